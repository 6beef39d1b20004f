/** A buyer: a process of its own that wants some of the goods, in one of four ways. */
import { type Holdfast, holdfast } from 'holdfast'
import type { Answer, Ask, Errand, Request } from './messages.ts'

/** Short, so that the demo is short: a stopped holder loses the lock after this long. */
const TTL_MS = 1_000

const waiting = new Map<number, (answer: Answer) => void>()
let asked = 0

function ask(question: Ask): Promise<Answer> {
  const request: Request = { id: asked++, ask: question }
  return new Promise((resolve, reject) => {
    waiting.set(request.id, resolve)
    process.send?.(request, undefined, undefined, (error) => {
      if (error) reject(error)
    })
  })
}

async function buy(errand: Errand): Promise<number> {
  const { wants, way, store } = errand
  if (way === 'conditional') {
    const { taken } = await ask({ kind: 'take', count: wants })
    return taken === true ? wants : 0
  }
  if (way === 'bare') return (await attempt(wants, null)) ?? 0
  const hf = await holdfast(store, { ttlMs: TTL_MS, label: errand.name })
  try {
    // A buyer whose token was refused has lost the lock while it slept. So it takes the lock again, and looks again.
    for (;;) {
      const bought = await underLock(hf, errand)
      if (bought !== null) return bought
    }
  } finally {
    await hf.close()
  }
}

/** null: the stock has refused it. */
async function underLock(hf: Holdfast, { wants, way }: Errand): Promise<number | null> {
  const held = await hf.mutex('stock').acquire()
  try {
    return await attempt(wants, way === 'fenced' ? held.token : null, () => held.assertHeld())
  } finally {
    await held.release()
  }
}

/** Read, decide, write: three steps, and anything may come between them. */
async function attempt(wants: number, token: bigint | null, check?: () => void): Promise<number | null> {
  const fence = token === null ? {} : { token: String(token) }
  const { left, refused } = await ask({ kind: 'read', ...fence })
  if (refused === true || left === undefined) return null
  if (left < wants) return 0
  // As careful as a holder can be; but the pause comes after the check, wherever the check is.
  check?.()
  await ask({ kind: 'decided' })
  const answer = await ask({ kind: 'write', left: left - wants, ...fence })
  return answer.refused === true ? null : wants
}

process.on('message', (answer: Answer) => {
  waiting.get(answer.id)?.(answer)
  waiting.delete(answer.id)
})
process.on('disconnect', () => process.exit(1))

const errand = JSON.parse(process.argv[2] ?? '') as Errand
const bought = await buy(errand)
await ask({ kind: 'done', bought })
process.disconnect()
