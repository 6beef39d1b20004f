/** The records that open a connection: who I am and what I saw last; what the server granted; and the heartbeats. */
import { JuteReader, JuteWriter } from './jute.ts'
import type { Heartbeat } from './proof.ts'
import { Op, Xid } from './protocol.ts'

/** What a server grants; a `timeoutMs` of 0 says that it does not know such a session any more. */
export interface Grant {
  readonly timeoutMs: number
  readonly sessionId: bigint
  readonly password: Buffer
  readonly readOnly: boolean
}

const NO_PASSWORD = Buffer.alloc(16)

export function connectFrame(
  lastZxid: bigint,
  timeoutMs: number,
  session: { readonly id: bigint; readonly password: Buffer } | null,
): Buffer {
  const protocolVersion = 0
  return new JuteWriter()
    .int(protocolVersion)
    .long(lastZxid)
    .int(timeoutMs)
    .long(session?.id ?? 0n)
    .buffer(session?.password ?? NO_PASSWORD)
    .bool(false) // a read-only server can keep no lock: it is to refuse us
    .take()
}

export function readGrant(frame: Buffer): Grant {
  const reader = new JuteReader(frame)
  reader.int() // the protocol version; there has only ever been 0
  const timeoutMs = reader.int()
  const sessionId = reader.long()
  const password = reader.buffer()
  return { timeoutMs, sessionId, password, readOnly: reader.left > 0 && reader.bool() }
}

/** All three under the xid of pings, which tells their answers from those of requests. */
export const heartbeatFrame: Readonly<Record<Heartbeat, Buffer>> = {
  ping: new JuteWriter().int(Xid.ping).int(Op.ping).take(),
  sync: new JuteWriter().int(Xid.ping).int(Op.sync).ustring('/').take(),
  // A multi that checks the root and changes nothing: the smallest thing that a quorum commits. It does not matter
  // whether it may look at the root, because a refusal is committed as well.
  commit: new JuteWriter()
    .int(Xid.ping)
    .int(Op.multi)
    .int(Op.check)
    .bool(false)
    .int(-1)
    .ustring('/')
    .int(-1)
    .int(-1)
    .bool(true)
    .int(-1)
    .take(),
}
