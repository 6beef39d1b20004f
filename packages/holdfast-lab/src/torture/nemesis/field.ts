/** What a nemesis finds before it: the clients it may hit, and who of them is inside. */
import type { FaultProxy } from '../../testbed/proxy.ts'
import type { Cable } from '../backend/cable.ts'

export interface ClientTarget {
  readonly p: string
  /** Its ways to the store; none where it goes there directly. */
  readonly gates: readonly FaultProxy[]
  /** Of its network, where it has one of its own. */
  readonly cable: Cable | null
  pause(): void
  resume(): void
  /** Kills it. */
  kill(): Promise<void>
  /** Starts another in its place. */
  revive(): Promise<void>
  block(ms: number): void
  /** Its wall clock, by so many milliseconds from the true time. */
  setClock(offsetMs: number): Promise<void>
}

export interface Field {
  readonly ttlMs: number
  /** How long a holder is suspended. */
  readonly suspendMs: number
  readonly clients: readonly ClientTarget[]
  /** Resolves with one who is inside and suits (default: anyone); null if nobody comes in for a while. */
  holder(suits?: (client: ClientTarget) => boolean): Promise<ClientTarget | null>
  /** Resolves with a line that somebody is inside of; null if nobody comes in for a while. */
  busyLine(): Promise<string | null>
  /** Takes a line from its holders. */
  breakLine(line: string, now: boolean): Promise<void>
}
