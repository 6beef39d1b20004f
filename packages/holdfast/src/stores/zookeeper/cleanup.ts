/** Removes nodes, even those of which nobody knows whether they exist: a session would keep such a ghost for ever. */
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreUnreachableError } from '../../contract/errors.ts'
import { type ClientState, isZooKeeperError, type Stat, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import { backoffMs } from '../shared/backoff.ts'
import type { Layout } from './layout.ts'
import { readLine } from './line.ts'
import type { Reweighing } from './reweighing.ts'
import type { Runtime } from '../../contract/runtime.ts'
import type { OwnPlace } from './places.ts'
import type { Handover } from './handover.ts'

const PAUSE = { backoffMinMs: 50, backoffMaxMs: 1_000 }
/** In these states a client answers nothing any more. */
const ENDED: ReadonlySet<ClientState> = new Set<ClientState>(['closed', 'authFailed'])

export class Cleanup {
  readonly #client: ZooKeeperClient
  readonly #layout: Layout
  readonly #handover: Handover
  readonly #reweighing: Reweighing
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #gone: (standing: OwnPlace) => void
  readonly #busy = new Set<OwnPlace>()

  /** `gone` is called when a place that had to be removed is known to be gone. */
  constructor(
    client: ZooKeeperClient,
    layout: Layout,
    handover: Handover,
    reweighing: Reweighing,
    runtime: Pick<Runtime, 'now'>,
    gone: (standing: OwnPlace) => void,
  ) {
    this.#client = client
    this.#layout = layout
    this.#handover = handover
    this.#reweighing = reweighing
    this.#runtime = runtime
    this.#gone = gone
  }

  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  /** Looks for the node of a place by its id. */
  async find(standing: OwnPlace): Promise<{ readonly path: string; readonly stat: Stat } | null> {
    // Every request sent before this sync, even over an earlier connection, has happened before the sync or will never
    // happen: the leader refuses what a server sends for a session that has moved on.
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
  async remove(standing: OwnPlace): Promise<void> {
    if (standing.turn > 0) {
      await standing.weighing
      await this.#reweighing.lower(standing)
    }
    if (standing.path !== '' && (await isThere(this.#handover.leave(standing)))) return
    // It has gone, or the answer that told its name was wrong: what has the id goes, whatever it is called.
    const found = await this.find(standing)
    if (found !== null) await isThere(this.#client.delete(found.path))
  }

  /** Removes it in the background, again and again until a server has confirmed it. */
  reap(standing: OwnPlace): void {
    if (this.#busy.has(standing)) return
    this.#busy.add(standing)
    void this.#insist(standing)
  }

  /** A broken place counts until its lease has run out: the work of its holder may still go on. */
  async #outlast({ lapsesAt }: OwnPlace): Promise<void> {
    const leftMs = lapsesAt - this.#runtime.now()
    if (leftMs > 0) await sleep(leftMs, undefined, { ref: false })
  }

  async #insist(standing: OwnPlace): Promise<void> {
    for (let tries = 0; !ENDED.has(this.#client.state); tries++) {
      try {
        if (standing.broken) await this.#outlast(standing)
        await this.remove(standing)
        break
      } catch (error) {
        // Schedule: the delete is lost with the connection; somebody breaks the line, which marks the node; the delete
        // is sent again. Without another try the node would stand for as long as the session lives.
        if (isZooKeeperError(error, 'BadVersion')) standing.broken = true
        // A server that refuses once will refuse again. A closed client takes its session along, which kept the node.
        else if (!(error instanceof StoreUnreachableError)) break
      }
      await sleep(backoffMs(tries, PAUSE, 1), undefined, { ref: false })
    }
    this.#busy.delete(standing)
    this.#gone(standing)
  }
}

/** Whether the node that is to be removed was there. */
async function isThere(removed: Promise<void>): Promise<boolean> {
  try {
    await removed
    return true
  } catch (error) {
    if (!isZooKeeperError(error, 'NoNode')) throw error
    return false
  }
}
