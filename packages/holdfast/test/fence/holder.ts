/** A holder in a process of its own: takes the lock, reads, and writes when it is told to, however late that is. */
import { holdfast } from '../../src/index.ts'
import { type Kind, openTarget, RESOURCE } from './target.ts'

/** What the parent wants, as JSON in the first argument. */
export interface Errand {
  readonly kind: Kind
  readonly target: string
  readonly store: string
  readonly ttlMs: number
}

/** What became of the write. */
export type Outcome = { readonly wrote: number } | { readonly code: string; readonly message: string }

const { kind, target: where, store, ttlMs } = JSON.parse(process.argv[2] ?? '') as Errand
const target = await openTarget(kind, where)
const hf = await holdfast(target.store ?? store, { ttlMs, fairness: 'strict' })
const held = await hf.mutex(RESOURCE).acquire()
await target.write(held, (await target.read(held)) + 1)
const before = await target.read(held)
process.once('message', () => void write())
process.send?.('has read')

/** Without a look at the clock: the guard alone must refuse it. */
async function write(): Promise<void> {
  let outcome: Outcome
  try {
    await target.write(held, before + 1)
    outcome = { wrote: before + 1 }
  } catch (error) {
    const { code, message } = error as Error & { readonly code?: string }
    outcome = { code: code ?? '', message }
  }
  process.send?.(outcome, () => process.exit())
}
