/** The messages between a thread that locks and the thread that has the store. */
import type {
  CellView,
  Change,
  Demand,
  Driver,
  Entry,
  LineView,
  Place,
  Push,
  Taken,
  Traits,
} from '../contract/driver.ts'
import * as errors from '../contract/errors.ts'

/** What the worker gets at its start. */
export interface WorkerSettings {
  readonly url: string
  readonly options: { readonly prefix?: string; readonly connectTimeoutMs?: number }
  readonly silenceMs: number
  /** One number: performance.now() of the locking thread, in microseconds, at its last sign of life. */
  readonly alive: SharedArrayBuffer
}

/** The calls of the contract, each with its arguments and its answer. */
export interface DriverCalls {
  enter(entry: Entry, wait: boolean): Place | null
  enterAll(entries: readonly Entry[]): Place[] | null
  touch(entries: readonly Entry[]): (Place | null)[]
  leave(entry: Entry, afterMs: number): void
  rename(entry: Entry, id: string): Place | null
  reweigh(entry: Entry, turn: number): Place | null
  list(prefix: string): LineView[]
  view(line: string): LineView | null
  swap(key: string, change: Change | null): CellView
  take(key: string, demand: Demand): Taken
  break(line: string, now: boolean): number
  setup(): void
  close(): void
}

export type CallName = keyof DriverCalls

/** To the worker. A call gets an answer; the others get none. */
export type Request =
  /** The locking thread's performance.now(): the answer to the worker's 'clock'. */
  | { readonly kind: 'time'; readonly nowMs: number }
  | { readonly kind: 'call'; readonly call: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly kind: 'watch'; readonly watch: number; readonly line: string; readonly id: string | null }
  | { readonly kind: 'unwatch'; readonly watch: number }
  | { readonly kind: 'want'; readonly id: string; readonly wanted: boolean }
  /** A new page of the renewals, where the worker writes what it learns about places. */
  | { readonly kind: 'page'; readonly page: SharedArrayBuffer }
  /** The slot where the worker writes about the place with this id. */
  | { readonly kind: 'slot'; readonly id: string; readonly slot: number }

/** From the worker. */
export type Reply =
  /** Asks for the time of the other thread. On some runtimes each thread begins a clock of its own. */
  | { readonly kind: 'clock' }
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

export interface SentError {
  readonly code: string
  readonly message: string
  readonly line?: string
}

type Made = new (message: string, detail: { readonly line?: string }) => errors.HoldfastError

/** The errors that a driver may reject with. */
const CLASSES: Record<string, Made> = {
  HF_CAPACITY: errors.CapacityMismatchError,
  HF_UNSUPPORTED: errors.UnsupportedError,
  HF_STORE: errors.StoreError,
  HF_UNREACHABLE: errors.StoreUnreachableError,
  HF_USAGE: errors.UsageError,
  HF_MISSING_CLIENT: errors.MissingClientError,
  HF_UNKNOWN: errors.OutcomeUnknownError,
  HF_CLOSED: errors.ClosedError,
}

export function sendable(error: unknown): SentError {
  if (!(error instanceof errors.HoldfastError)) {
    return { code: 'HF_STORE', message: error instanceof Error ? error.message : String(error) }
  }
  const { code, message, line } = error
  return line === undefined ? { code, message } : { code, message, line }
}

export function received({ code, message, line }: SentError): errors.HoldfastError {
  const Class = CLASSES[code] ?? errors.StoreError
  return new Class(message, line === undefined ? {} : { line })
}
