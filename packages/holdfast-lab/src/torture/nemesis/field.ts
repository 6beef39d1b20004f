/** The targets of a nemesis: clients, and which of them hold a lock. */
import type { FaultProxy } from '../../testbed/proxy.ts'
import type { Cable } from '../backend/cable.ts'

export interface ClientTarget {
  readonly p: string
  /** The client's ways to the store; none if it connects directly. */
  readonly gates: readonly FaultProxy[]
  /** The cable of the client's network, if it has its own. */
  readonly cable: Cable | null
  pause(): void
  resume(): void
  /** Kills it. */
  kill(): Promise<void>
  /** Starts another in its place. */
  revive(): Promise<void>
  block(ms: number): void
  /** Sets its wall clock to so many milliseconds from the true time. */
  setClock(offsetMs: number): Promise<void>
}

export interface Field {
  readonly ttlMs: number
  /** How long a holder is suspended. */
  readonly suspendMs: number
  readonly clients: readonly ClientTarget[]
  /** Resolves with a holder that suits (default: any); null if nobody comes for a while. */
  holder(suits?: (client: ClientTarget) => boolean): Promise<ClientTarget | null>
  /** Resolves with a line that somebody holds; null if nobody comes for a while. */
  busyLine(): Promise<string | null>
  /** Takes a line from its holders. */
  breakLine(line: string, now: boolean): Promise<void>
}
