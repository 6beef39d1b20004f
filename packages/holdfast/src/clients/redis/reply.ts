/** What a reply becomes in JavaScript. */
import type { ReplyError } from './errors.ts'

/**
 * A reply: text as string (as Buffer if asked for), an integer as number (as bigint beyond ±2^53), a big number as
 * bigint, a map as Map, a set as Set. An error inside an array is a value; at the top it rejects the command.
 */
export type Reply =
  | string
  | Buffer
  | number
  | bigint
  | boolean
  | null
  | ReplyError
  | Reply[]
  | Map<Reply, Reply>
  | Set<Reply>
