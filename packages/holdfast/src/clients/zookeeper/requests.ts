/** One encoder for each request: arguments in, frame and decoder of the answer out. */
import { UsageError } from '../../contract/errors.ts'
import { type Acl, openAcl } from './acl.ts'
import type { Chroot } from './chroot.ts'
import type { ZooKeeperError } from './errors.ts'
import { type JuteReader, JuteWriter, MalformedReplyError } from './jute.ts'
import type { Identity } from './options.ts'
import { Op, Xid, XID_OFFSET } from './protocol.ts'
import { Proof, type ProofLevel } from './proof.ts'
import { readStat, type Stat } from './stat.ts'
import type { WatchCallback, WatchKind } from './watches.ts'

/** The watch that a successful answer arms. */
export interface ArmedWatch {
  readonly kind: WatchKind
  readonly callback: WatchCallback
}

export interface Request<T> {
  /** For messages. */
  readonly name: string
  readonly path: string
  /** Complete but for the xid. */
  readonly frame: Buffer
  /** Returns an error if an answer contains the error of one of its parts. */
  readonly decode: (reader: JuteReader) => T | ZooKeeperError
  readonly watch: ArmedWatch | null
  /** True: a missing node is the answer null, not an error. */
  readonly nullable: boolean
  /** What any answer to it proves, even a refusal: refused changes are committed like changes. */
  readonly proof: ProofLevel
}

export type CreateMode =
  | 'persistent'
  | 'persistentSequential'
  | 'ephemeral'
  | 'ephemeralSequential'
  | 'container'
  | 'ttl'
  | 'ttlSequential'

export interface CreateOptions {
  /** Default 'persistent'. */
  readonly mode?: CreateMode
  /** Default: everybody may do everything. */
  readonly acl?: readonly Acl[]
  /**
   * For the ttl modes only: 1 to 2^40 - 1 ms without a change and without children, then the server deletes the node.
   */
  readonly ttlMs?: number
}

const FLAGS: Readonly<Record<CreateMode, number>> = {
  persistent: 0,
  ephemeral: 1,
  persistentSequential: 2,
  ephemeralSequential: 3,
  container: 4,
  ttl: 5,
  ttlSequential: 6,
}
const TTL_MS_MAX = 2 ** 40 - 1
export const NO_DATA: Uint8Array = new Uint8Array(0)

const out = new JuteWriter()

/** Starts a frame; the xid follows when the request is queued. */
export function begin(op: number): JuteWriter {
  return out.reset().int(0).int(op)
}

const nothing = (): void => undefined

function plain<T>(
  name: string,
  path: string,
  frame: Buffer,
  decode: (reader: JuteReader) => T,
  proof: ProofLevel = Proof.quorum,
): Request<T> {
  return { name, path, frame, decode, watch: null, nullable: false, proof }
}

export function isSequential(mode: CreateMode | undefined): boolean {
  return mode !== undefined && mode.endsWith('Sequential')
}

/** The operation code that carries a create of this mode. */
export function createOp(mode: CreateMode, wantStat: boolean): number {
  if (mode === 'container') return Op.createContainer
  if (mode === 'ttl' || mode === 'ttlSequential') return Op.createTtl
  return wantStat ? Op.create2 : Op.create
}

/** Writes the record of a create; shared by create and multi. */
export function writeCreate(writer: JuteWriter, target: string, data: Uint8Array, options: CreateOptions): void {
  const mode = options.mode ?? 'persistent'
  const flags = FLAGS[mode]
  if (flags === undefined) throw new UsageError(`mode must be one of ${Object.keys(FLAGS).join(', ')}: ${mode}`)
  const acl = options.acl ?? openAcl
  const ttl = mode === 'ttl' || mode === 'ttlSequential'
  if (ttl !== (options.ttlMs !== undefined)) {
    throw new UsageError(`ttlMs belongs to the modes ttl and ttlSequential and to no other; the mode was ${mode}`)
  }
  writer.ustring(target).buffer(data).int(acl.length)
  for (const rule of acl) writer.int(rule.perms).ustring(rule.scheme).ustring(rule.id)
  writer.int(flags)
  if (options.ttlMs === undefined) return
  if (!(Number.isInteger(options.ttlMs) && options.ttlMs >= 1 && options.ttlMs <= TTL_MS_MAX)) {
    throw new UsageError(`ttlMs must be a whole number from 1 to ${TTL_MS_MAX}, given was ${options.ttlMs}`)
  }
  writer.long(BigInt(options.ttlMs))
}

function createFrame(chroot: Chroot, at: string, data: Uint8Array, options: CreateOptions, wantStat: boolean): Buffer {
  const mode = options.mode ?? 'persistent'
  const target = chroot.absolute(at, isSequential(mode))
  const writer = begin(createOp(mode, wantStat))
  writeCreate(writer, target, data, options)
  return writer.take()
}

const SEQUENCE = /^-?\d{10,}$/

/**
 * The path of the new node, as the caller names it. A path that the caller did not ask for counts as no answer, and
 * the owner looks for the node. Otherwise the owner would keep the wrong path, and nobody would remove the right node.
 */
export function readMade(reader: JuteReader, chroot: Chroot, at: string, mode: CreateMode | undefined): string {
  const made = chroot.relative(reader.ustring())
  const isMine = isSequential(mode) ? made.startsWith(at) && SEQUENCE.test(made.slice(at.length)) : made === at
  if (isMine) return made
  throw new MalformedReplyError(`ZooKeeper made ${JSON.stringify(made)}, asked for was ${JSON.stringify(at)}`)
}

export function create(chroot: Chroot, at: string, data: Uint8Array, options: CreateOptions): Request<string> {
  // Container and ttl nodes answer with a Stat behind the path; a caller of `create` does not want it.
  return plain('create', at, createFrame(chroot, at, data, options, false), (reply) =>
    readMade(reply, chroot, at, options.mode),
  )
}

export function create2(
  chroot: Chroot,
  at: string,
  data: Uint8Array,
  options: CreateOptions,
): Request<{ path: string; stat: Stat }> {
  return plain('create', at, createFrame(chroot, at, data, options, true), (reply) => ({
    path: readMade(reply, chroot, at, options.mode),
    stat: readStat(reply),
  }))
}

export function remove(chroot: Chroot, at: string, version: number): Request<void> {
  return plain('delete', at, begin(Op.delete).ustring(chroot.absolute(at)).int(version).take(), nothing)
}

export function setData(chroot: Chroot, at: string, data: Uint8Array, version: number): Request<Stat> {
  const frame = begin(Op.setData).ustring(chroot.absolute(at)).buffer(data).int(version).take()
  return plain('setData', at, frame, readStat)
}

function reading<T>(
  name: string,
  op: number,
  chroot: Chroot,
  at: string,
  watch: ArmedWatch | null,
  decode: (reader: JuteReader) => T,
  nullable: boolean,
): Request<T> {
  const frame = begin(op)
    .ustring(chroot.absolute(at))
    .bool(watch !== null)
    .take()
  return { name, path: at, frame, decode, watch, nullable, proof: Proof.server }
}

function armed(kind: WatchKind, callback: WatchCallback | undefined): ArmedWatch | null {
  return callback === undefined ? null : { kind, callback }
}

export function exists(chroot: Chroot, at: string, watch?: WatchCallback): Request<Stat | null> {
  return reading('exists', Op.exists, chroot, at, armed('data', watch), readStat, true)
}

const dataAndStat = (reply: JuteReader): { data: Buffer; stat: Stat } => ({
  data: reply.buffer(),
  stat: readStat(reply),
})

export function getData(chroot: Chroot, at: string, watch?: WatchCallback): Request<{ data: Buffer; stat: Stat }> {
  return reading('getData', Op.getData, chroot, at, armed('data', watch), dataAndStat, false)
}

const childrenAndStat = (reply: JuteReader): { children: string[]; stat: Stat } => ({
  children: reply.ustrings(),
  stat: readStat(reply),
})

export function getChildren(
  chroot: Chroot,
  at: string,
  watch?: WatchCallback,
): Request<{ children: string[]; stat: Stat }> {
  return reading('getChildren', Op.getChildren2, chroot, at, armed('child', watch), childrenAndStat, false)
}

export function sync(chroot: Chroot, at: string): Request<string> {
  const frame = begin(Op.sync).ustring(chroot.absolute(at)).take()
  return plain('sync', at, frame, (reply) => chroot.relative(reply.ustring()), Proof.leader)
}

export function addWatch(chroot: Chroot, at: string, recursive: boolean, callback: WatchCallback): Request<void> {
  const frame = begin(Op.addWatch)
    .ustring(chroot.absolute(at))
    .int(recursive ? 1 : 0)
    .take()
  const watch: ArmedWatch = { kind: recursive ? 'recursive' : 'persistent', callback }
  return { name: 'addWatch', path: at, frame, decode: nothing, watch, nullable: false, proof: Proof.server }
}

/** Removes watches of every kind that this session has at the path. */
export function removeWatches(chroot: Chroot, at: string, done: () => void): Request<void> {
  const ANY_KIND = 3
  const frame = begin(Op.removeWatches).ustring(chroot.absolute(at)).int(ANY_KIND).take()
  return plain('removeWatches', at, frame, done, Proof.server)
}

/** The message of an error names the scheme, never the credential. */
export function authenticate(identity: Identity): Request<void> {
  const frame = begin(Op.auth).int(0).ustring(identity.scheme).buffer(Buffer.from(identity.credential)).take()
  frame.writeInt32BE(Xid.auth, XID_OFFSET)
  return plain('auth', identity.scheme, frame, nothing, Proof.server)
}

export function closeSession(): Request<void> {
  return plain('closeSession', '/', begin(Op.closeSession).take(), nothing)
}

/** Creates one node of the chroot itself, under its name at the server. */
export function createAbsolute(absolute: string): Request<void> {
  const writer = begin(Op.create)
  writeCreate(writer, absolute, NO_DATA, {})
  return plain('create', absolute, writer.take(), nothing)
}

export function existsAbsolute(absolute: string): Request<Stat | null> {
  const frame = begin(Op.exists).ustring(absolute).bool(false).take()
  return { ...plain<Stat | null>('exists', absolute, frame, readStat, Proof.server), nullable: true }
}
