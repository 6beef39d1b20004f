/**
 * Word to one that has a whole line that it is to give it up: the name of its node, in a node beside the line. In its
 * own node it would be a word to the next that it is its turn, see handover.ts.
 */
import { ClosedError, StoreError } from '../../contract/errors.ts'
import { isZooKeeperError, type WatchEvent, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { ParentNodes } from './parent-nodes.ts'
import type { Layout } from './layout.ts'
import type { OwnPlace } from './places.ts'
import { isWhole } from './handover.ts'

const TRIES = 5

/** Writes the word down, over an older one. */
export async function tellBreak(
  client: ZooKeeperClient,
  parents: ParentNodes,
  path: string,
  name: string,
): Promise<void> {
  const word = Buffer.from(name)
  for (let tries = 1; ; tries++) {
    try {
      await parents.on(client, path.slice(0, path.lastIndexOf('/')), () =>
        client.create(path, word, { acl: parents.acl }),
      )
      return
    } catch (error) {
      if (!isZooKeeperError(error, 'NodeExists')) throw error
    }
    try {
      await client.setData(path, word)
      return
    } catch (error) {
      // Taken away in between, by one that it was not for.
      if (!isZooKeeperError(error, 'NoNode') || tries === TRIES) throw error
    }
  }
}

export class BreakWakeups {
  readonly #client: ZooKeeperClient
  readonly #layout: Layout
  readonly #wake: (id: string) => void

  constructor(client: ZooKeeperClient, layout: Layout, wake: (id: string) => void) {
    this.#client = client
    this.#layout = layout
    this.#wake = wake
  }

  /** Whether the word to this holder would stand beside its line, and nobody looks for it yet. */
  isUnheeded(standing: OwnPlace): boolean {
    return standing.granted && standing.breakWatch === null && this.#pathOf(standing) !== null
  }

  /** Looks for word to this holder, and for any that comes later, until it is forgotten. */
  async heed(standing: OwnPlace): Promise<void> {
    const path = this.#pathOf(standing)
    if (path === null) return
    const changed = ({ type }: Pick<WatchEvent, 'type'>): void => {
      if (standing.breakWatch !== changed) return
      standing.breakWatch = null
      if (type !== 'lost') void this.heed(standing)
    }
    standing.breakWatch = changed
    try {
      if ((await this.#client.exists(path, { watch: changed })) !== null) await this.#read(standing, path)
    } catch (error) {
      // Not armed: after the next heartbeat it is tried again.
      if (standing.breakWatch === changed) standing.breakWatch = null
      if (!(error instanceof StoreError || error instanceof ClosedError)) throw error
    }
  }

  /** No word is expected any more. Goes out in one write with what is sent next. */
  forget(standing: OwnPlace): void {
    const [path, watch] = [this.#pathOf(standing), standing.breakWatch]
    if (path === null || watch === null) return
    standing.breakWatch = null
    this.#client.unwatch(path, watch)
    if (this.#client.state === 'connected') void this.#removeWatch(path)
  }

  /** Takes the word away, be it to this holder or to one that has gone without hearing it. */
  async #read(standing: OwnPlace, path: string): Promise<void> {
    try {
      const { data, stat } = await this.#client.getData(path)
      if (data.toString() === standing.path.slice(standing.linePath.length + 1)) {
        standing.broken = true
        this.#wake(standing.entry.id)
      }
      await this.#client.delete(path, stat.version)
    } catch (error) {
      // Taken away, or written anew: the watch tells.
      if (!isZooKeeperError(error, 'NoNode', 'BadVersion')) throw error
    }
  }

  async #removeWatch(path: string): Promise<void> {
    try {
      await this.#client.removeWatches(path)
    } catch (error) {
      // It has fired, or nobody answered: then we are told once more than we need.
      if (!(error instanceof StoreError || error instanceof ClosedError)) throw error
    }
  }

  #pathOf({ entry, linePath }: OwnPlace): string | null {
    return isWhole(entry) ? this.#layout.breakPath(linePath) : null
  }
}
