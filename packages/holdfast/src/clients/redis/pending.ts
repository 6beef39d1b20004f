/** A command that was given and not yet settled. */
import type { Reply } from './reply.ts'

/**
 * Lives in the queue of unsent commands, then in the link that wrote it; never in two links, so it is never sent twice.
 */
export interface Pending {
  /** Its bytes, until they are written. Empty from the start: it only waits for a connection. */
  text: string
  /** Whether blobs in the reply become Buffers. */
  readonly buffers: boolean
  /** On the clock of performance.now(); Infinity for the handshake, which has a timer of its own. */
  readonly deadline: number
  /** Set for SUBSCRIBE and UNSUBSCRIBE, whose answer is a push naming this channel. */
  readonly channel: string | null
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}
