/** A small world: some clients, some lines, and the messages between them. All of it is plain data. */
import type { LineEvent, ModelAnswer, ModelLine } from 'holdfast/conformance'

/** Ticks that a lease lasts: enough for a request to be late, a renewal to come in time, and a lease to end. */
export const TTL = 2

/**
 * - asking: has sent an enter. waiting: stands in the line. holding: was granted.
 * - raising: holds, and has asked to become heavier. writing: is granted the heavier weight.
 * - told: knows of its loss; its work may go on until its own deadline.
 * - kept: released, and the place stays for the next caller of this process.
 */
export type Phase = 'asking' | 'waiting' | 'holding' | 'raising' | 'writing' | 'told' | 'kept'

/** What a client has on one line. */
export interface Leg {
  readonly line: number
  readonly id: string
  readonly phase: Phase
  /** Ticks until its own deadline, counted from before the request was sent. */
  readonly left: number
  readonly token: number
  /** How often the place was handed on inside the process. */
  readonly counter: number
  /** An enter of this id got no answer, and may yet arrive. */
  readonly doubted: boolean
  readonly turn: number
  /** It was granted the heavier weight before it heard of that. */
  readonly heavy: boolean
}

/** A place that is being given up. */
export interface Undo {
  readonly line: number
  readonly id: string
  /** How many leaves the store has still to confirm. */
  readonly leaves: number
  /** An enter of this id has not been answered. */
  readonly asking: boolean
}

export interface Client {
  /** Visits that it has yet to begin. */
  readonly visits: number
  /** Ids that it has used. */
  readonly ids: number
  readonly legs: readonly Leg[]
  readonly undo: readonly Undo[]
}

export interface Request {
  readonly from: number
  readonly line: number
  readonly event: LineEvent & { readonly id: string }
  /** Ticks since it was sent. */
  readonly age: number
  /** Its sender waits for the answer. */
  readonly awaited: boolean
  /** It was sent in this very step. */
  readonly isFresh: boolean
}

export interface Reply {
  readonly request: Request
  readonly answer: ModelAnswer | null
}

/** The store tells a waiter that it is granted. */
export interface ModelPush {
  readonly to: number
  readonly id: string
}

/** How often each fault may still happen. */
export interface Budget {
  readonly lost: number
  readonly late: number
  readonly doubled: number
  readonly crash: number
  readonly break: number
  readonly abort: number
}

export interface State {
  readonly lines: readonly ModelLine[]
  readonly clients: readonly Client[]
  readonly requests: readonly Request[]
  readonly replies: readonly Reply[]
  readonly pushes: readonly ModelPush[]
  readonly budget: Budget
  /** By line: the largest token of any hold so far, and of an exclusive hold. */
  readonly seen: readonly { readonly any: number; readonly alone: number }[]
  /** Which law the last step broke; null: none. */
  readonly broken: string | null
}

/** What a client of the world wants, each time it comes. */
export interface Wish {
  /** The lines that it wants together, in this order. */
  readonly lines: readonly number[]
  readonly weight: number
  /** As a writer, after an upgrade. */
  readonly heavy?: number
  readonly visits: number
  readonly wait?: boolean
}

export interface World {
  readonly name: string
  /** How often each fault may happen, chosen so that all worlds are enumerated within a minute on two cores. */
  readonly times: number
  /** How often a message may be late: this splits more schedules than all other faults. */
  readonly late: number
  /** Faults that split too many schedules for that minute; `--deep` has them. */
  readonly deepOnly?: readonly (keyof Budget)[]
  readonly capacity: number
  readonly lines: number
  readonly wishes: readonly Wish[]
  /** The store wakes those that it grants. */
  readonly push?: boolean
  /** A released place stays with its process while nobody else wants it. */
  readonly keep?: boolean
  /** How often a place is handed on inside a process. */
  readonly handovers?: number
}
