/** The watches of one session: on places ahead of its own places, and on its places' own nodes if both share paths. */
import { ClosedError, StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import { isZooKeeperError, type WatchEvent, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import type { Named } from './layout.ts'
import type { Look } from './look.ts'
import type { OwnPlace } from './places.ts'
import type { Handover } from './handover.ts'

export class Wakeups {
  readonly #client: ZooKeeperClient
  readonly #handover: Handover
  readonly #wake: (id: string) => void
  /** How many places of this session wait for the node of a path. */
  readonly #waiting = new Map<string, number>()

  constructor(client: ZooKeeperClient, handover: Handover, wake: (id: string) => void) {
    this.#client = client
    this.#handover = handover
    this.#wake = wake
  }

  /** Watches the places that the look names, and no others any more. */
  follow(standing: OwnPlace, look: Look): void {
    if (look.blocking.length === 0 && standing.blocking.size === 0) return
    const wanted = new Map(look.blocking.map((named) => [`${standing.linePath}/${named.name}`, named]))
    for (const path of [...standing.blocking.keys()]) if (!wanted.has(path)) this.#leave(standing, path)
    for (const [path, named] of wanted) if (!standing.blocking.has(path)) this.#watch(standing, path, named)
  }

  forget(standing: OwnPlace): void {
    for (const path of [...standing.blocking.keys()]) this.#leave(standing, path)
  }

  /**
   * Removes the watch on a node of our own that is about to be deleted, or the server would notify us of our own
   * leaving. But not if a place of ours waits for that node: a session has one watch at a path, and that place needs
   * it.
   */
  unwatchOwn(path: string): void {
    if (!this.#waiting.has(path)) void this.#removeWatch(path)
  }

  /**
   * Watches by reading, not by exists: exists would leave a watch behind at a node that has gone and never comes back.
   */
  #watch(standing: OwnPlace, path: string, inFront: Named): void {
    const changed = ({ type }: Pick<WatchEvent, 'type'>): void => {
      if (standing.blocking.get(path) !== changed) return
      this.#drop(standing, path)
      standing.woken = true
      standing.isTurn = this.#handover.isTurn(standing, inFront, type)
      this.#wake(standing.entry.id)
      // Core looks within this turn. A later look may be about something else, and asks the leader.
      queueMicrotask(() => {
        standing.woken = false
        standing.isTurn = false
      })
    }
    standing.blocking.set(path, changed)
    this.#waiting.set(path, (this.#waiting.get(path) ?? 0) + 1)
    this.#client.getData(path, { watch: changed }).catch((error: unknown) => {
      // The node went between the look and the watch: look again. If it may not be read, the heartbeats look.
      if (isZooKeeperError(error, 'NoNode')) changed({ type: 'deleted' })
      else if (error instanceof StoreUnreachableError && standing.blocking.get(path) === changed) {
        this.#drop(standing, path)
        this.#wake(standing.entry.id)
      }
    })
  }

  #leave(standing: OwnPlace, path: string): void {
    const callback = standing.blocking.get(path)
    if (callback !== undefined) this.#client.unwatch(path, callback)
    this.#drop(standing, path)
  }

  #drop(standing: OwnPlace, path: string): void {
    standing.blocking.delete(path)
    const left = (this.#waiting.get(path) ?? 1) - 1
    if (left === 0) this.#waiting.delete(path)
    else this.#waiting.set(path, left)
  }

  async #removeWatch(path: string): Promise<void> {
    try {
      await this.#client.removeWatches(path)
    } catch (error) {
      // The watch has fired, or there was no answer: at worst we are woken once more than needed.
      if (!(error instanceof StoreError || error instanceof ClosedError)) throw error
    }
  }
}
