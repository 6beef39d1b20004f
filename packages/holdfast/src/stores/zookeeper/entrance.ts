/** Takes a place: in one round trip, and without a list if nobody else stands in the line. */
import type { Entry } from '../../contract/driver.ts'
import { StoreError } from '../../contract/errors.ts'
import { isZooKeeperError, type ZooKeeperClient, type ZooKeeperError } from '../../clients/zookeeper/index.ts'
import type { ParentNodes } from './parent-nodes.ts'
import type { Layout } from './layout.ts'
import { readNames } from './line.ts'
import { encodeNode } from './node-data.ts'

/** A node that was created, and its line. */
export interface TakenPlace {
  readonly path: string
  readonly czxid: bigint
  /** The session that created it; 0n if that session has ended since. */
  readonly sessionId: bigint
  /** The names of all in the line. null: only the new one. A rejection: the line could not be read. */
  readonly names: PromiseSettledResult<readonly string[] | null>
}

/** Lines that are remembered as shared; the one remembered longest ago goes first. */
const SHARED_MAX = 1_024
const NO_DATA = new Uint8Array(0)
const ALONE = Object.freeze({ status: 'fulfilled', value: null } as const)

export class Entrance {
  readonly #client: ZooKeeperClient
  readonly #layout: Layout
  readonly #parents: ParentNodes
  /** Lines in which the last look found others: there a list will be needed. */
  readonly #shared = new Set<string>()
  #asksAlone: boolean

  constructor(client: ZooKeeperClient, layout: Layout, parents: ParentNodes) {
    this.#client = client
    this.#layout = layout
    this.#parents = parents
    this.#asksAlone = layout.ownsLines
  }

  take(linePath: string, entry: Entry): Promise<TakenPlace> {
    const path = this.#layout.placePath(linePath, entry)
    const data = encodeNode({ ttlMs: entry.ttlMs, broken: false, data: entry.data })
    return this.#parents.on(this.#client, linePath, () =>
      this.#asksAlone && !this.#shared.has(linePath)
        ? this.#takeAlone(linePath, path, data)
        : this.#takeAmong(linePath, path, data),
    )
  }

  /** Notes what a look has shown: whether the next enter should expect others in the line. */
  saw(linePath: string, names: readonly string[]): void {
    if (names.length <= 1) this.#shared.delete(linePath)
    else this.#remember(linePath)
  }

  /**
   * Creates the node, and writes nothing to the node of the line. The answer to the latter is its Stat as of this very
   * transaction, with the number of its children and the number of the transaction, which is the new node's czxid. If
   * there is a single child, it is the new one, and is granted. All servers apply transactions in one order, so even a
   * follower that is behind counts right.
   */
  async #takeAlone(linePath: string, path: string, data: Buffer): Promise<TakenPlace> {
    const { mode, acl } = this.#create
    try {
      const [made, wrote] = await this.#client.multi([
        { op: 'create', path, data, mode, acl },
        { op: 'setData', path: linePath, data: NO_DATA },
      ])
      if (made?.path === undefined || wrote?.stat === undefined)
        throw new StoreError('ZooKeeper answered a multi without its results')
      // Asked for now: the answer came over a link of the session that created the node, and no other session can have
      // come since.
      const sessionId = this.#client.session?.id ?? 0n
      const { mzxid, numChildren } = wrote.stat
      if (numChildren === 1) return { path: made.path, czxid: mzxid, sessionId, names: ALONE }
      const [names] = await Promise.allSettled([readNames(this.#client, linePath)])
      return { path: made.path, czxid: mzxid, sessionId, names }
    } catch (error) {
      if (!isRefusedWrite(error)) throw error
      // The ACL lets us create children there, but not write. A list tells as well.
      this.#asksAlone = false
      return this.#takeAmong(linePath, path, data)
    }
  }

  /** Both in one write, answered one after the other: the list has the new node, and with it all live places ahead. */
  async #takeAmong(linePath: string, path: string, data: Buffer): Promise<TakenPlace> {
    const [made, names] = await Promise.allSettled([
      this.#client.create2(path, data, this.#create),
      readNames(this.#client, linePath),
    ])
    if (made.status === 'rejected') throw made.reason
    const { stat } = made.value
    return { path: made.value.path, czxid: stat.czxid, sessionId: stat.ephemeralOwner, names }
  }

  get #create(): { readonly mode: 'ephemeralSequential'; readonly acl: ParentNodes['acl'] } {
    return { mode: 'ephemeralSequential', acl: this.#parents.acl }
  }

  #remember(linePath: string): void {
    if (this.#shared.has(linePath)) return
    this.#shared.add(linePath)
    if (this.#shared.size <= SHARED_MAX) return
    for (const oldest of this.#shared) {
      this.#shared.delete(oldest)
      return
    }
  }
}

/** Whether the second operation of the multi, the write, was the one without permission. */
function isRefusedWrite(error: unknown): boolean {
  return isZooKeeperError(error, 'NoAuth') && (error as ZooKeeperError).index === 1
}
