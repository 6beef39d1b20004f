/** A client process: opens the client under test and makes visits until it is told to stop, or killed. */
import { nextErrand } from '../generator/plan.ts'
import { micros } from '../history/clock.ts'
import { Recorder } from '../history/recorder.ts'
import { Random } from '../random.ts'
import { LineToReferee } from '../referee/line-to-referee.ts'
import { run } from './errands.ts'
import type { LockClient, OpenClient } from './lock-client.ts'
import { BIRTH, type Birth, type Order, type Ready } from './order.ts'
import { pause, Visitor } from './visitor.ts'

const RETRY_MS = 100

const birth = JSON.parse(process.env[BIRTH] ?? '') as Birth
const stopping = new AbortController()
const recorder = new Recorder(birth.history)

process.on('message', (order: Order) => {
  if (order.order === 'stop') stopping.abort()
  else block(order.ms)
})
process.on('disconnect', () => process.exit(1))
// Ctrl-C goes to the whole group; the conductor tells us when to stop.
process.on('SIGINT', () => undefined)

/** Nothing else runs in this process meanwhile: no timer, no socket. */
function block(ms: number): void {
  const from = micros()
  const end = performance.now() + ms
  while (performance.now() < end);
  recorder.record({ e: 'blocked', t: micros(), p: birth.p, from })
}

/** The store may be down just now, so a process that starts then tries again. */
async function open(): Promise<LockClient | null> {
  const { default: openClient } = (await import(birth.module)) as { default: OpenClient }
  const { url, ttlMs, p, variant, config } = birth
  const onWoken = (line: string): void => recorder.record({ e: 'woken', t: micros(), p, line })
  const onQueued = (line: string, exclusive: boolean): void =>
    recorder.record({ e: 'queued', t: micros(), p, line, exclusive })
  while (!stopping.signal.aborted) {
    try {
      return await openClient({ url, ttlMs, p, variant, config, onWoken, onQueued })
    } catch (error) {
      if (!(error instanceof Error) || error instanceof TypeError) throw error
      await pause(RETRY_MS, stopping.signal)
    }
  }
  return null
}

async function visitAll(client: LockClient): Promise<void> {
  const referee = await LineToReferee.open(birth.referee, birth.p)
  const visitor = new Visitor({ p: birth.p, client, recorder, referee, stop: stopping.signal })
  const task = async (number: number): Promise<void> => {
    const random = Random.of(birth.seed, `${birth.p} ${number}`)
    while (!stopping.signal.aborted) {
      const errand = nextErrand(birth.lines, birth.pace, random, birth.errands)
      await pause(errand.restMs, stopping.signal)
      if (!stopping.signal.aborted) await run(visitor, errand)
    }
  }
  await Promise.all(Array.from({ length: birth.tasks }, (_, number) => task(number)))
  referee.close()
}

const client = await open()
if (client !== null) {
  const ready: Ready = { ready: true }
  process.send?.(ready)
  await visitAll(client)
  await client.close()
}
recorder.close()
process.exit(0)
