/** Removes nodes, also those of which nobody knows whether they are there: a session would keep such a ghost for ever. */
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreUnreachableError } from '../../core/errors.ts'
import { type ClientState, isZooKeeperError, type Stat, type ZooKeeperClient } from './client/index.ts'
import type { Layout } from './layout.ts'
import { readLine } from './line.ts'
import type { Standing } from './standing.ts'
import type { Turns } from './turns.ts'

const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 1_000
/** In these a client answers nothing any more. */
const ENDED: ReadonlySet<ClientState> = new Set<ClientState>(['closed', 'authFailed'])

export class Reaper {
  readonly #client: ZooKeeperClient
  readonly #layout: Layout
  readonly #turns: Turns
  readonly #gone: (standing: Standing) => void
  readonly #busy = new Set<Standing>()

  /** `gone` is called when a place that was to be reaped is known to be gone. */
  constructor(client: ZooKeeperClient, layout: Layout, turns: Turns, gone: (standing: Standing) => void) {
    this.#client = client
    this.#layout = layout
    this.#turns = turns
    this.#gone = gone
  }

  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  /** Looks for the node of a place by its id. */
  async find(standing: Standing): Promise<{ readonly path: string; readonly stat: Stat } | null> {
    // All that was sent before, also over an earlier connection, has happened before this sync or will never happen: the
    // leader refuses what a server sends for a session that has moved on.
    const [, line] = await Promise.all([
      this.#client.sync('/'),
      readLine(this.#client, this.#layout, standing.linePath),
    ])
    const named = line.find(({ id }) => id === standing.entry.id)
    if (named === undefined) return null
    const path = `${standing.linePath}/${named.name}`
    const stat = await this.#client.exists(path)
    return stat === null ? null : { path, stat }
  }

  /** Removes the node of a place, if there is one. Settles when it is gone. */
  async remove(standing: Standing): Promise<void> {
    const path = standing.path === '' ? (await this.find(standing))?.path : standing.path
    if (path === undefined) return
    try {
      await (standing.path === '' ? this.#client.delete(path) : this.#turns.leave(standing))
    } catch (error) {
      if (!isZooKeeperError(error, 'NoNode')) throw error
    }
  }

  /** Removes it in the background, again and again until somebody has confirmed it. */
  reap(standing: Standing): void {
    if (this.#busy.has(standing)) return
    this.#busy.add(standing)
    void this.#insist(standing)
  }

  async #insist(standing: Standing): Promise<void> {
    for (let pauseMs = PAUSE_MS_MIN; !ENDED.has(this.#client.state); pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      try {
        await this.remove(standing)
        break
      } catch (error) {
        // A server that refuses will refuse again, and with a closed client the session goes, which kept the node.
        if (!(error instanceof StoreUnreachableError)) break
      }
      await sleep(pauseMs, undefined, { ref: false })
    }
    this.#busy.delete(standing)
    this.#gone(standing)
  }
}
