/** What a client under test can do: one operation at a time. Holdfast is one, and so is every planted fault. */
import type { ErrandKind } from '../generator/errand.ts'
import type { LineSpec } from '../history/event.ts'

export interface Wish {
  readonly line: LineSpec
  readonly exclusive: boolean
  readonly weight: number
  /** 0: one try. */
  readonly waitMs: number
  /** Ends the wait. */
  readonly signal: AbortSignal
}

export interface Claim {
  /** null where there are none. */
  readonly token: bigint | null
  /** What is left of the lease by the client's own clock; Infinity if the client does not count. */
  readonly leftMs: number
  /** Aborted as soon as the client knows of its loss; absent if the client is not told. */
  readonly lost?: AbortSignal
  /** Whether the holder may act now. */
  isHeld(): boolean
  /** Returns whether the lock was still ours. */
  release(): Promise<boolean>
}

/** A read lock that can write. */
export interface UpgradeClaim extends Claim {
  /** null: the other readers stayed, or the wait was ended. The holder still reads. */
  upgrade(wish: Pick<Wish, 'waitMs' | 'signal'>): Promise<Claim | null>
}

/** How many stand in a line, as the store shows it. */
export interface Crowd {
  readonly holders: number
  readonly waiters: number
}

export interface LockClient {
  readonly fair: boolean
  readonly fenced: boolean
  readonly counting: boolean
  /** The lease that the store really grants, at least that which was asked for. */
  readonly ttlMs: number
  /** null: others have the lock, or the wait was ended. If it rejects, nobody knows whether it took effect. */
  acquire(wish: Wish): Promise<Claim | null>
  /** What the store can't do, and why; asked once, before a run. Absent: the client can make visits only. */
  lacks?(line: string): Promise<Readonly<Partial<Record<ErrandKind, string>>>>
  /** An upgradeable read lock. */
  upgradeable?(wish: Pick<Wish, 'line' | 'waitMs' | 'signal'>): Promise<UpgradeClaim | null>
  /** Takes all of these locks exclusively, or none. */
  several?(lines: readonly LineSpec[], wish: Pick<Wish, 'waitMs' | 'signal'>): Promise<readonly Claim[] | null>
  /** Takes the line from its holders. Returns how many they were. */
  break?(line: string, now: boolean): Promise<number>
  /** Makes what the store needs, once. */
  setup(): Promise<void>
  crowd(line: LineSpec): Promise<Crowd>
  close(): Promise<void>
}

export interface LockClientOptions {
  readonly url: string
  readonly ttlMs: number
  /** The process. */
  readonly p: string
  /** Chooses among options that a run may vary. */
  readonly variant: number
  /** Further words for the client's module; '' for none. */
  readonly config: string
  /** Called whenever the store wakes a waiter. */
  readonly onWoken: (line: string) => void
  /** Called whenever the store has answered that a place has to wait. */
  readonly onQueued: (line: string, exclusive: boolean) => void
}

/** For a client whose wake-ups nobody counts. */
export const DEAF: Pick<LockClientOptions, 'onWoken' | 'onQueued'> = {
  onWoken: () => undefined,
  onQueued: () => undefined,
}

/** What a module of a client exports by default. */
export type OpenClient = (options: LockClientOptions) => Promise<LockClient>
