/** Changes the weight of a place: raise.ts says what is written, and why in two steps. */
import { StoreError } from '../../contract/errors.ts'
import { isZooKeeperError, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { ParentNodes } from './parent-nodes.ts'
import type { Layout } from './layout.ts'
import { parseLine, readNames } from './line.ts'
import { grantedOf, inOrder } from './look.ts'
import { type Mark, markName, parseMark } from './raise.ts'
import type { OwnPlace } from './places.ts'

/** How often the line is read again because the last granted place has gone meanwhile. */
const TRIES = 100

export class Reweighing {
  readonly #client: ZooKeeperClient
  readonly #layout: Layout
  readonly #parents: ParentNodes

  constructor(client: ZooKeeperClient, layout: Layout, parents: ParentNodes) {
    this.#client = client
    this.#layout = layout
    this.#parents = parents
  }

  /**
   * Brings the place to the weight of its latest turn, one request after the other. The sync comes first: whatever was
   * sent before, even over a lost connection, has happened before it or never will. So late requests need no other
   * guard.
   */
  async settle(standing: OwnPlace): Promise<void> {
    const before = standing.weighing
    const work = async (): Promise<void> => {
      await before
      if (standing.isWeighed || standing.state !== 'standing' || standing.broken) return
      const { turn, weight } = standing
      if (weight > standing.entry.weight) await this.#raise(standing, weight)
      else await this.lower(standing)
      if (standing.turn === turn) standing.isWeighed = true
    }
    const working = work()
    // The caller gets the outcome; the next request only waits for the end of this one.
    standing.weighing = Promise.allSettled([working])
    await working
  }

  /** Takes all marks of a place away. */
  async lower(standing: OwnPlace): Promise<void> {
    const names = await this.#names(standing)
    await Promise.all(this.#marks(standing, names).map(({ name }) => this.#remove(standing, name)))
  }

  async #raise(standing: OwnPlace, weight: number): Promise<void> {
    const { entry, linePath } = standing
    let names = await this.#names(standing)
    // Marks of an earlier turn, which asked for another weight.
    const stale = this.#marks(standing, names).filter((mark) => mark.weight !== weight)
    await Promise.all(stale.map(({ name }) => this.#remove(standing, name)))
    for (let tries = 1; tries <= TRIES; tries++) {
      const marks = this.#marks(standing, names).filter((mark) => mark.weight === weight)
      if (marks.some(({ beside }) => beside !== null)) return
      if (marks.length === 0) await this.#create(`${linePath}/${markName(entry.id, weight, null)}`)
      else if (await this.#close(standing, weight, marks, names)) return
      names = await readNames(this.#client, linePath)
    }
    throw new StoreError(
      `ZooKeeper: the holders of ${JSON.stringify(entry.line)} changed faster than they could be read`,
    )
  }

  /** The second step. False: the last granted place has gone since the line was read. */
  async #close(standing: OwnPlace, weight: number, marks: readonly Mark[], names: readonly string[]): Promise<boolean> {
    const { entry, linePath } = standing
    const line = inOrder(await parseLine(this.#client, this.#layout, linePath, names))
    const me = line.find(({ id }) => id === entry.id)
    // Somebody deleted the node: the next look shows that.
    if (me === undefined) return true
    const last = grantedOf(line).at(-1) ?? me
    const stat = await this.#client.exists(`${linePath}/${last.name}`)
    if (stat === null) return false
    const beside = { number: this.#layout.parse(last.name)?.order ?? last.order, czxid: Number(stat.czxid) }
    const path = `${linePath}/${markName(entry.id, weight, beside)}`
    // In one step: this wakes whoever waits for the open mark, and they find the settled one.
    try {
      await this.#client.multi([
        { op: 'create', path, mode: 'ephemeralSequential', acl: this.#parents.acl },
        ...marks.map(({ name }) => ({ op: 'delete', path: `${linePath}/${name}` }) as const),
      ])
    } catch (error) {
      // Somebody broke the place meanwhile, and removed its mark, too.
      if (!isZooKeeperError(error, 'NoNode')) throw error
      return false
    }
    return true
  }

  async #create(path: string): Promise<void> {
    await this.#client.create(path, undefined, { mode: 'ephemeralSequential', acl: this.#parents.acl })
  }

  async #names(standing: OwnPlace): Promise<readonly string[]> {
    const [, names] = await Promise.all([this.#client.sync('/'), readNames(this.#client, standing.linePath)])
    return names
  }

  #marks(standing: OwnPlace, names: readonly string[]): Mark[] {
    return names.map(parseMark).filter((mark): mark is Mark => mark !== null && mark.id === standing.entry.id)
  }

  async #remove(standing: OwnPlace, name: string): Promise<void> {
    try {
      await this.#client.delete(`${standing.linePath}/${name}`)
    } catch (error) {
      if (!isZooKeeperError(error, 'NoNode')) throw error
    }
  }
}
