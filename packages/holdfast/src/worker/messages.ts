/** What passes between a thread that locks and the thread that has the store. */
import type { CellView, Change, Demand, Driver, Entry, LineView, Place, Push, Taken, Traits } from '../driver.ts'
import type { SentError } from './sent-error.ts'

/** What the worker is started with. */
export interface Charge {
  readonly url: string
  readonly options: { readonly prefix?: string; readonly connectTimeoutMs?: number }
  readonly silenceMs: number
  /** The locking thread's clock: hrtime minus performance.now(), in milliseconds. */
  readonly clockMs: number
  /** One number: the hrtime, in milliseconds, at which the locking thread last gave a sign of life. */
  readonly alive: SharedArrayBuffer
}

/** The calls of the contract, each with its arguments and its answer. */
export interface Calls {
  enter(entry: Entry, wait: boolean): Place | null
  enterAll(entries: readonly Entry[]): Place[] | null
  touch(entries: readonly Entry[]): (Place | null)[]
  leave(entry: Entry, afterMs: number): void
  rename(entry: Entry, id: string): Place | null
  list(prefix: string): LineView[]
  swap(key: string, change: Change | null): CellView
  take(key: string, demand: Demand): Taken
  break(line: string, now: boolean): number
  setup(): void
  close(): void
}

export type CallName = keyof Calls

/** To the worker. A call is answered; the rest is not. */
export type Request =
  | { readonly kind: 'call'; readonly call: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly kind: 'watch'; readonly watch: number; readonly line: string; readonly id: string | null }
  | { readonly kind: 'unwatch'; readonly watch: number }
  | { readonly kind: 'want'; readonly id: string; readonly wanted: boolean }
  /** Where what is learned of the places is to be written: a new page of the ledger. */
  | { readonly kind: 'page'; readonly page: SharedArrayBuffer }
  /** The place with this id is written down there. */
  | { readonly kind: 'slot'; readonly id: string; readonly slot: number }

/** From the worker. */
export type Reply =
  | {
      readonly kind: 'open'
      readonly name: string
      readonly traits: Traits
      readonly can: readonly (keyof Driver & CallName)[]
    }
  | { readonly kind: 'closed'; readonly error: SentError }
  | { readonly kind: 'answer'; readonly call: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly call: number; readonly error: SentError }
  | { readonly kind: 'wake'; readonly watch: number; readonly push: Push | undefined }
