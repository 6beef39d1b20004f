/** What a nemesis finds before it: the clients it may hit, and who of them is inside. */
import type { FaultProxy } from '../../testbed/proxy.ts'

export interface ClientTarget {
  readonly p: string
  /** Its ways to the store; none where it goes there directly. */
  readonly gates: readonly FaultProxy[]
  pause(): void
  resume(): void
  /** Kills it. */
  kill(): Promise<void>
  /** Starts another in its place. */
  revive(): Promise<void>
  block(ms: number): void
}

export interface Field {
  readonly ttlMs: number
  readonly clients: readonly ClientTarget[]
  /** Resolves with one who is inside; null if nobody comes in for a while. */
  holder(): Promise<ClientTarget | null>
}
