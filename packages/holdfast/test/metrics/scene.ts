/** A little of everything that is measured, on any store. */
import { memory } from '../../src/stores/memory/index.ts'
import { cellMemory, proofOf } from '../../src/fence/index.ts'
import { type Holdfast, holdfast } from '../../src/index.ts'

export async function playAll(prefix: string): Promise<void> {
  const hf = await holdfast(memory(), { ttlMs: 300 })
  try {
    await contend(hf, `${prefix}:1`)
    await lose(hf, `${prefix}:2`)
    await hf.election(`${prefix}:leader`).campaign()
    await refuse(hf, `${prefix}:3`)
  } finally {
    await hf.close()
  }
}

/** Hand-overs inside the process and by the store, and a caller that gives up. */
async function contend(hf: Holdfast, name: string): Promise<void> {
  const held = await hf.mutex(name).acquire()
  const inside = hf.mutex(name).using(() => undefined)
  const behind = hf.mutex(name, { fairness: 'strict' }).using(() => undefined)
  await hf.mutex(name).tryAcquire()
  await hf
    .mutex(name)
    .acquire({ waitMs: 5 })
    .catch((error: unknown) => error)
  await held.release()
  await Promise.all([inside, behind])
}

async function lose(hf: Holdfast, name: string): Promise<void> {
  const held = await hf.mutex(name).acquire()
  const lost = new Promise((resolve) => held.signal.addEventListener('abort', resolve))
  await hf.break(name, { now: true })
  await lost
}

async function refuse(hf: Holdfast, name: string): Promise<void> {
  const remember = cellMemory(hf)
  const late = await hf.mutex(name).acquire()
  const old = proofOf(late)
  await late.release()
  await hf.mutex(name).using((held) => remember('ledger', proofOf(held)))
  await remember('ledger', old).catch((error: unknown) => error)
}
