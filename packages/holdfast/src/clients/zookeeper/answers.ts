/** How a call ends: with the server's value, with the server's error, or with the news that no answer came. */
import { ClosedError } from '../../contract/errors.ts'
import type { Call } from './calls.ts'
import { errnoOf, type UnansweredKind, ZooKeeperError, ZooKeeperUnreachableError } from './errors.ts'
import { type JuteReader, MalformedReplyError } from './jute.ts'
import type { Request } from './requests.ts'
import type { Watches } from './watches.ts'

const NO_NODE = errnoOf('NoNode')

/** Settles a call by its answer and arms the watch that the call asked for. */
export function settle(call: Call, errno: number, reply: JuteReader, watches: Watches): void {
  const { request } = call
  if (errno === 0) {
    const value = decode(call, reply)
    if (value instanceof ZooKeeperError) {
      call.reject(value)
      return
    }
    if (request.watch !== null) watches.arm(request.watch.kind, request.path, request.watch.callback)
    call.resolve(value)
  } else if (errno === NO_NODE && request.nullable) {
    // The server has armed the watch, too: a look at a missing node waits for its creation.
    if (request.watch !== null) watches.arm('exist', request.path, request.watch.callback)
    call.resolve(null)
  } else {
    call.reject(new ZooKeeperError(errno, { request: request.name, path: request.path }))
  }
}

function decode(call: Call, reply: JuteReader): unknown {
  try {
    return call.request.decode(reply)
  } catch (error) {
    // Nobody can read whether the request took effect. And the link can't be trusted, so the error goes on to the link.
    if (error instanceof MalformedReplyError) {
      call.reject(unanswered('ConnectionLoss', call.request, true, 'the answer could not be read', error))
    }
    throw error
  }
}

export function unanswered(
  kind: UnansweredKind,
  request: Request<unknown>,
  sent: boolean,
  because: string,
  cause?: Error,
): ZooKeeperUnreachableError {
  return new ZooKeeperUnreachableError(kind, { request: request.name, path: request.path, sent, because, cause })
}

export function closedError(): ClosedError {
  return new ClosedError('the ZooKeeper client is closed: make a new one')
}
