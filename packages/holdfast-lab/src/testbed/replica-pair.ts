/** A primary and its replica behind one address, of whichever kind. */
import type { Group } from './bed.ts'
import type { Front } from './front.ts'
import type { FaultProxy } from './proxy.ts'
import type { Server } from './server.ts'

export interface ReplicaPair extends Group {
  /** Leads to the primary, and from `promote()` on to its successor; `url` is its address. */
  readonly front: Front
  /** The server that is the primary now; at first the first of `servers`. */
  readonly primary: Server
  /** The other one. */
  readonly replica: Server
  /** The connection of the replica goes through here: it can be late, held back or cut. */
  readonly stream: FaultProxy
  /** Resolves once the replica has all that the primary has now. */
  caughtUp(): Promise<void>
  /**
   * The replica becomes the primary, with the data it has, and the front leads there; the old primary is left as it is.
   */
  promote(o?: PromoteOptions): Promise<void>
  /** The server that is not the primary is emptied and becomes its replica. */
  rejoin(): Promise<void>
  /** Closes the front; the servers end with their testbed. */
  close(): void
}

export interface PromoteOptions {
  /** Whether open connections through the front are reset; default true. */
  readonly cut?: boolean
}
