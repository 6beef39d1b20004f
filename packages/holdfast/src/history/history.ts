/** What happened to the locks of one instance, as this process saw it: a ring with a fixed number of entries. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Events, EventSource } from '../contract/events.ts'
import type { Runtime } from '../contract/runtime.ts'

/** One thing that happened to a lock. */
export interface HistoryEntry {
  /** The wall clock of this process. */
  readonly atMs: number
  /** The monotonic clock of this process, for the order of what this process saw. */
  readonly monoMs: number
  /** Named like the channels: `acquired`, `lost` … */
  readonly event: HistoryKind
  readonly lock: string
  /** The number of the request; the same from `requested` to the end of the request. */
  readonly request?: number
  readonly token?: bigint
  /** `waitedMs` or `heldMs`. */
  readonly ms?: number
  /** For `requested`: how long the caller is ready to wait, and how much of the lock it wants. */
  readonly waitMs?: number
  readonly weight?: number
  readonly capacity?: number
  /** For `acquired`: who gave the lock. For `waiting`: where the caller waits. */
  readonly by?: 'store' | 'process'
  /** For `lost` and `failed`: why. */
  readonly reason?: string
}

/** What can happen to a lock, named like the channels. */
export type HistoryKind =
  | 'requested'
  | 'waiting'
  | 'acquired'
  | 'refused'
  | 'timed-out'
  | 'aborted'
  | 'failed'
  | 'at-risk'
  | 'lost'
  | 'released'
  | 'broken'
  | 'elected'
  | 'resigned'

const KINDS: readonly HistoryKind[] = [
  'requested',
  'waiting',
  'acquired',
  'refused',
  'timed-out',
  'aborted',
  'failed',
  'at-risk',
  'lost',
  'released',
  'broken',
  'elected',
  'resigned',
]

type Told = Partial<Omit<Events['requested'] & Events['acquired'] & Events['lost'] & Events['failed'], 'error'>> & {
  readonly error?: unknown
  readonly where?: 'store' | 'process'
} & { readonly lock: string; readonly instance: number }

/** Calls the listener with each event of one instance's locks, as published. Call the result to stop. */
export function hearLocks({ instance }: EventSource, listener: (event: HistoryKind, told: Told) => void): () => void {
  const stops = KINDS.map((event) => {
    const heard = (message: unknown): void => {
      const told = message as Told
      if (told.instance === instance) listener(event, told)
    }
    subscribe(`holdfast:${event}`, heard)
    return () => unsubscribe(`holdfast:${event}`, heard)
  })
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}

export class History {
  readonly #runtime: Runtime
  readonly #size: number
  readonly #entries: HistoryEntry[] = []
  /** The index of the oldest entry, once the ring is full. */
  #oldest = 0
  readonly #stop: () => void

  constructor(runtime: Runtime, source: EventSource, size: number) {
    this.#runtime = runtime
    this.#size = size
    this.#stop = hearLocks(source, (event, told) => this.#keep(entryOf(event, told, this.#runtime)))
  }

  /** The oldest first; of one lock, or of all. */
  read(lock: string | null): HistoryEntry[] {
    const all = [...this.#entries.slice(this.#oldest), ...this.#entries.slice(0, this.#oldest)]
    return lock === null ? all : all.filter((entry) => entry.lock === lock)
  }

  close(): void {
    this.#stop()
  }

  #keep(entry: HistoryEntry): void {
    if (this.#entries.length < this.#size) {
      this.#entries.push(entry)
      return
    }
    this.#entries[this.#oldest] = entry
    this.#oldest = (this.#oldest + 1) % this.#size
  }
}

export function entryOf(event: HistoryKind, told: Told, runtime: Pick<Runtime, 'now' | 'wallNow'>): HistoryEntry {
  const { lock, request, token, waitedMs, heldMs, waitMs, weight, capacity, by, where, reason, error } = told
  const ms = heldMs ?? waitedMs
  const why = reason ?? (error === undefined ? undefined : error instanceof Error ? error.message : 'no reason given')
  const from = by ?? where
  return {
    atMs: runtime.wallNow(),
    monoMs: runtime.now(),
    event,
    lock,
    ...(request === undefined ? {} : { request }),
    ...(token === undefined ? {} : { token }),
    ...(ms === undefined ? {} : { ms }),
    ...(waitMs === undefined ? {} : { waitMs, weight: weight ?? 1, capacity: capacity ?? 1 }),
    ...(from === undefined ? {} : { by: from }),
    ...(why === undefined ? {} : { reason: why }),
  }
}
