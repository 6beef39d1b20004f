/** Several changes as one: all of them happen, or none does. */
import { UsageError } from '../../contract/errors.ts'
import type { Chroot } from './chroot.ts'
import { ZooKeeperError } from './errors.ts'
import { type JuteReader, type JuteWriter, MalformedReplyError } from './jute.ts'
import { Proof } from './proof.ts'
import { Op } from './protocol.ts'
import {
  begin,
  type CreateOptions,
  createOp,
  isSequential,
  NO_DATA,
  readMade,
  type Request,
  writeCreate,
} from './requests.ts'
import { readStat, type Stat } from './stat.ts'

/** One operation of a multi. `version` defaults to any. */
export type MultiOp =
  | ({ readonly op: 'create'; readonly path: string; readonly data?: Uint8Array } & CreateOptions)
  | { readonly op: 'delete'; readonly path: string; readonly version?: number }
  | { readonly op: 'setData'; readonly path: string; readonly data: Uint8Array; readonly version?: number }
  | { readonly op: 'check'; readonly path: string; readonly version?: number }

/** The result of one operation: the path of a create (and the Stat if the server adds it), the Stat of a setData. */
export interface MultiResult {
  readonly path?: string
  readonly stat?: Stat
}

const ANY_VERSION = -1
const NO_ERROR = 0
/** The server's answer for operations after the failed one: the cause only if there is no better one. */
const NOT_REACHED = -2

function writeOp(writer: JuteWriter, chroot: Chroot, op: MultiOp): void {
  const header = (type: number): JuteWriter => writer.int(type).bool(false).int(-1)
  switch (op.op) {
    case 'create': {
      const mode = op.mode ?? 'persistent'
      header(createOp(mode, false))
      return writeCreate(writer, chroot.absolute(op.path, isSequential(mode)), op.data ?? NO_DATA, op)
    }
    case 'delete':
      header(Op.delete)
        .ustring(chroot.absolute(op.path))
        .int(op.version ?? ANY_VERSION)
      return
    case 'setData':
      header(Op.setData)
        .ustring(chroot.absolute(op.path))
        .buffer(op.data)
        .int(op.version ?? ANY_VERSION)
      return
    case 'check':
      header(Op.check)
        .ustring(chroot.absolute(op.path))
        .int(op.version ?? ANY_VERSION)
  }
}

function readResult(reader: JuteReader, chroot: Chroot, type: number, op: MultiOp | undefined): MultiResult {
  switch (type) {
    case Op.create:
      return { path: readMadeOf(reader, chroot, op) }
    case Op.create2:
    case Op.createContainer:
    case Op.createTtl:
      return { path: readMadeOf(reader, chroot, op), stat: readStat(reader) }
    case Op.setData:
      return { stat: readStat(reader) }
    case Op.delete:
    case Op.check:
      return {}
    default:
      throw new MalformedReplyError(`a ZooKeeper multi was answered with a result of type ${type}`)
  }
}

function readMadeOf(reader: JuteReader, chroot: Chroot, op: MultiOp | undefined): string {
  if (op?.op === 'create') return readMade(reader, chroot, op.path, op.mode)
  throw new MalformedReplyError('a ZooKeeper multi was answered with a node that nobody asked for')
}

/** Reads all results, or the error of the operation that undid them: the frame is read to its end either way. */
function readResults(reader: JuteReader, chroot: Chroot, ops: readonly MultiOp[]): MultiResult[] | ZooKeeperError {
  const results: MultiResult[] = []
  let failure: ZooKeeperError | null = null
  for (let index = 0; ; index++) {
    const type = reader.int()
    const done = reader.bool()
    reader.int()
    if (done) return failure ?? results
    if (type !== Op.error) {
      results.push(readResult(reader, chroot, type, ops[index]))
      continue
    }
    const errno = reader.int()
    if (errno === NO_ERROR || (failure !== null && failure.errno !== NOT_REACHED)) continue
    failure = new ZooKeeperError(errno, { request: 'multi', path: ops[index]?.path ?? '', index })
  }
}

export function multi(chroot: Chroot, ops: readonly MultiOp[]): Request<MultiResult[]> {
  if (ops.length === 0) throw new UsageError('a multi needs at least one operation')
  const writer = begin(Op.multi)
  for (const op of ops) writeOp(writer, chroot, op)
  const frame = writer.int(-1).bool(true).int(-1).take()
  const decode = (reader: JuteReader): MultiResult[] | ZooKeeperError => readResults(reader, chroot, ops)
  return { name: 'multi', path: ops[0]?.path ?? '', frame, decode, watch: null, nullable: false, proof: Proof.quorum }
}
