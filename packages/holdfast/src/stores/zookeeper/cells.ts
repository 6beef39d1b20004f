/** Compare-and-set cells: one node each, its mzxid as version, so that versions rise across removals, too. */
import { StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import type { CellView, Change } from '../../contract/driver.ts'
import { isZooKeeperError, type Stat, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { ParentNodes } from './parent-nodes.ts'
import { escapeName } from './names.ts'
import { CELL_TOMBSTONE_MS } from '../shared/tombstones.ts'

interface Cell {
  readonly nonce: string
  /** 0: for ever. */
  readonly ttlMs: number
  /** null: removed; the node remembers the nonce of the removal. */
  readonly value: string | null
  readonly stat: Stat
}

/** How often others may be faster within one swap. */
const TRIES = 20
const ABSENT: CellView = Object.freeze({ version: 0n, value: null, nonce: null })

export class Cells {
  readonly #client: () => ZooKeeperClient
  readonly #parents: ParentNodes
  readonly #base: string
  /** The removed cells of this process, by path: the version of their data, and the timer that deletes them. */
  readonly #tombstones = new Map<string, { readonly version: number; readonly timer: NodeJS.Timeout }>()

  constructor(client: () => ZooKeeperClient, parents: ParentNodes, base: string) {
    this.#client = client
    this.#parents = parents
    this.#base = base
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    const path = `${this.#base}/cells/${escapeName(key)}`
    for (let tries = 0; tries < TRIES; tries++) {
      const stored = await this.#read(path)
      const cell = stored !== null && stored.ttlMs > 0 && (await this.#hasLapsed(stored)) ? null : stored
      const before = view(cell)
      if (change === null || before.nonce === change.nonce || before.version !== change.version) return before
      const stat = await this.#write(path, stored, change)
      if (stat === null) continue
      if (change.next === null) this.#bury(path, stat.version)
      return view({ nonce: change.nonce, ttlMs: change.ttlMs, value: change.next, stat })
    }
    throw new StoreUnreachableError(`cell ${JSON.stringify(key)} was changed by others ${TRIES} times in one swap`)
  }

  /** Nobody repeats a removal any more. */
  async close(): Promise<void> {
    const tombstones = [...this.#tombstones]
    this.#tombstones.clear()
    for (const [, { timer }] of tombstones) clearTimeout(timer)
    await Promise.allSettled(tombstones.map(([path, { version }]) => this.#client().delete(path, version)))
  }

  async #read(path: string): Promise<Cell | null> {
    try {
      const client = this.#client()
      // A follower may be behind what another process has told this one, so first make it catch up with the leader.
      const [, { data, stat }] = await Promise.all([client.sync('/'), client.getData(path)])
      return { ...decode(data), stat }
    } catch (error) {
      if (isZooKeeperError(error, 'NoNode')) return null
      throw error
    }
  }

  /** The new stat; null: somebody else wrote in between. */
  async #write(path: string, stored: Cell | null, change: Change): Promise<Stat | null> {
    const client = this.#client()
    const data = encode(change)
    try {
      if (stored !== null) return await client.setData(path, data, stored.stat.version)
      const parent = `${this.#base}/cells`
      const made = await this.#parents.on(client, parent, () => client.create2(path, data, { acl: this.#parents.acl }))
      return made.stat
    } catch (error) {
      if (isZooKeeperError(error, 'BadVersion', 'NoNode', 'NodeExists')) return null
      throw error
    }
  }

  /** By the store's clock, which only a write shows: the time of a change is the leader's. */
  async #hasLapsed(cell: Cell): Promise<boolean> {
    const client = this.#client()
    const path = `${this.#base}/clock`
    let stat: Stat
    try {
      stat = await client.setData(path, new Uint8Array(0))
    } catch (error) {
      if (!isZooKeeperError(error, 'NoNode')) throw error
      await this.#parents.make(client, path, 'persistent')
      stat = await client.setData(path, new Uint8Array(0))
    }
    return stat.mtime >= cell.stat.mtime + cell.ttlMs
  }

  #bury(path: string, version: number): void {
    const earlier = this.#tombstones.get(path)
    if (earlier !== undefined) clearTimeout(earlier.timer)
    const timer = setTimeout(() => {
      this.#tombstones.delete(path)
      void this.#dig(path, version)
    }, CELL_TOMBSTONE_MS)
    timer.unref()
    this.#tombstones.set(path, { version, timer })
  }

  async #dig(path: string, version: number): Promise<void> {
    try {
      await this.#client().delete(path, version)
    } catch (error) {
      // The cell is in use again, or there was no answer. A node that stays is small, and is used again with its cell.
      if (!(error instanceof StoreError)) throw error
    }
  }
}

function view(cell: Cell | null): CellView {
  if (cell === null) return ABSENT
  const { nonce, value, stat } = cell
  return { version: value === null ? 0n : stat.mzxid, value, nonce }
}

/** The first line is ours: nonce, ttl, and whether there is a value. */
function encode(change: Change): Buffer {
  const head = `${change.nonce} ${change.ttlMs} ${change.next === null ? 'removed' : 'value'}\n`
  return Buffer.from(head + (change.next ?? ''))
}

function decode(bytes: Buffer): Omit<Cell, 'stat'> {
  const text = bytes.toString()
  const match = /^(\S+) (\d+) (value|removed)\n/.exec(text)
  // Another program has written it: show it as it is, so that nobody takes the cell for absent.
  if (match === null) return { nonce: '', ttlMs: 0, value: text }
  const [head, nonce = '', ttlMs, kind] = match
  return { nonce, ttlMs: Number(ttlMs), value: kind === 'value' ? text.slice(head.length) : null }
}
