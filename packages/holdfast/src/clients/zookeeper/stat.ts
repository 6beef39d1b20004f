/** What ZooKeeper keeps about a node beside its data. */
import type { JuteReader } from './jute.ts'

/** A node's numbers. Transaction ids and session ids are 64 bits wide and therefore bigint. */
export interface Stat {
  /** The transaction that created the node: unique and rising in the whole ensemble. */
  readonly czxid: bigint
  readonly mzxid: bigint
  /** The server's wall clock in milliseconds; for people only. */
  readonly ctime: number
  readonly mtime: number
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  /** The session with which an ephemeral node dies; 0n for all others. */
  readonly ephemeralOwner: bigint
  readonly dataLength: number
  readonly numChildren: number
  readonly pzxid: bigint
}

export function readStat(reader: JuteReader): Stat {
  return {
    czxid: reader.long(),
    mzxid: reader.long(),
    ctime: Number(reader.long()),
    mtime: Number(reader.long()),
    version: reader.int(),
    cversion: reader.int(),
    aversion: reader.int(),
    ephemeralOwner: reader.long(),
    dataLength: reader.int(),
    numChildren: reader.int(),
    pzxid: reader.long(),
  }
}
