/** What a client's or a server's error means to a caller: try again, or tell somebody. */
import { HoldfastError, StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import { ReplyError } from '../../clients/redis/errors.ts'

/** States of a server that end by themselves, or with a failover: the same request may be answered later. */
const PASSING = new Set([
  ...[
    'READONLY',
    'LOADING',
    'MASTERDOWN',
    'BUSY',
    'TRYAGAIN',
    'CLUSTERDOWN',
    'NOREPLICAS',
    'UNBLOCKED',
    'MOVED',
    'ASK',
  ],
])

const ADVICE: Record<string, string> = {
  NOPERM:
    'the user needs +eval +evalsha +subscribe +unsubscribe +scan +info +wait and the commands in the scripts ' +
    '(+@read +@write +time +publish), the keys ~<prefix>:* and the channels &<prefix>:*',
  NOAUTH: 'the server wants a password: put it into the URL',
  WRONGPASS: 'user or password are wrong',
  WRONGTYPE: 'another program uses keys that begin with our prefix: give this one a prefix of its own',
  OOM: 'the server is out of memory and grants no locks; those it has are still renewed and released',
  MISCONF: 'the server takes no writes because it cannot save its data',
  CROSSSLOT: 'this is a cluster: use redis+cluster://',
}

/** The first word of an error reply; those that come from inside a script, up to Redis 6.2, have it further behind. */
export function kindOf(reply: string): string {
  const kind = /^([A-Z][A-Z0-9_]*)(?= |$)/.exec(reply)?.[1] ?? 'ERR'
  if (kind !== 'ERR') return kind
  // What a script's user may not do has no word of its own in Redis 7.0 and before.
  if (reply.includes('The user executing the script')) return 'NOPERM'
  const inner = /: -?((?:[A-Z]{2,}))(?= )/.exec(reply)?.[1]
  return inner !== undefined && (PASSING.has(inner) || inner in ADVICE) ? inner : kind
}

/** The text of a server's error reply, whichever client read it; null: it is none. */
export function replyOf(error: unknown): string | null {
  if (error instanceof ReplyError) return error.reply
  if (error instanceof HoldfastError || !(error instanceof Error)) return null
  // ioredis calls them ReplyError; @redis/client SimpleError, BlobError, or another heir of ErrorReply.
  const isReply = error.name === 'ReplyError' || /Reply|SimpleError|BlobError/.test(error.constructor.name)
  return isReply ? error.message : null
}

/** Every error of a transport becomes one of ours. */
export function translate(error: unknown, where: string, line?: string): HoldfastError {
  const detail = { ...(line === undefined ? {} : { line }), cause: error }
  const reply = replyOf(error)
  if (reply === null) {
    if (error instanceof HoldfastError) return error
    const message = error instanceof Error ? error.message : String(error)
    return new StoreUnreachableError(`Redis at ${where} did not answer: ${message}`, detail)
  }
  const kind = kindOf(reply)
  if (PASSING.has(kind)) return new StoreUnreachableError(`Redis at ${where} can't serve now: ${reply}`, detail)
  const advice = ADVICE[kind]
  return new StoreError(`Redis at ${where} refused: ${reply}${advice === undefined ? '' : ` (${advice})`}`, detail)
}
