/**
 * Tells the holder of a whole line that it must give the line up: writes the name of its node into a node beside the
 * line. A write into its own node would tell the next waiter that its turn has come, see handover.ts.
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
      // A holder that the word was not for has taken it away in between.
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

  /** Whether the word to this holder would stand beside its line, and nothing looks for it yet. */
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
      // The watch is not armed: the next heartbeat tries again.
      if (standing.breakWatch === changed) standing.breakWatch = null
      if (!(error instanceof StoreError || error instanceof ClosedError)) throw error
    }
  }

  /** No word is expected any more. The request goes out in one write with what is sent next. */
  forget(standing: OwnPlace): void {
    const [path, watch] = [this.#pathOf(standing), standing.breakWatch]
    if (path === null || watch === null) return
    standing.breakWatch = null
    this.#client.unwatch(path, watch)
    if (this.#client.state === 'connected') void this.#removeWatch(path)
  }

  /** Takes the word away, whether it is for this holder or for one that has gone without hearing it. */
  async #read(standing: OwnPlace, path: string): Promise<void> {
    try {
      const { data, stat } = await this.#client.getData(path)
      if (data.toString() === standing.path.slice(standing.linePath.length + 1)) {
        standing.broken = true
        this.#wake(standing.entry.id)
      }
      await this.#client.delete(path, stat.version)
    } catch (error) {
      // The word was taken away, or written anew: the watch tells.
      if (!isZooKeeperError(error, 'NoNode', 'BadVersion')) throw error
    }
  }

  async #removeWatch(path: string): Promise<void> {
    try {
      await this.#client.removeWatches(path)
    } catch (error) {
      // The watch has fired, or there was no answer: at worst we are woken once more than needed.
      if (!(error instanceof StoreError || error instanceof ClosedError)) throw error
    }
  }

  #pathOf({ entry, linePath }: OwnPlace): string | null {
    return isWhole(entry) ? this.#layout.breakPath(linePath) : null
  }
}
