/**
 * How the holder of a whole line passes it on, so that the event alone tells the next waiter its turn, without a
 * request.
 *
 * No place is ahead of a holder, and none is ever inserted there. So if the place right ahead of a waiter was granted
 * when it left, the waiter is next. A `deleted` event alone does not show that: a waiter may have given up, a session
 * may have ended, a person may have deleted the node. So a holder leaves by two changes in one transaction: it writes
 * to its node, then deletes it. A watch fires once, at the first change, and so the waiter gets `dataChanged`. Nothing
 * else writes to such a node: a break is written beside the line (wakeups-breaks.ts), and a server that sets a watch
 * again after a cut reports a missed change as `deleted`.
 */
import type { Entry } from '../../contract/driver.ts'
import {
  isZooKeeperError,
  type WatchEventType,
  type ZooKeeperClient,
  type ZooKeeperError,
} from '../../clients/zookeeper/index.ts'
import type { Layout, Named } from './layout.ts'
import type { OwnPlace } from './places.ts'

const NO_DATA = new Uint8Array(0)
/** The version of a node whose data nobody has written since its creation. */
const UNWRITTEN = 0

/** Whether the place has the line for itself when it is granted. */
export function isWhole({ weight, capacity }: Pick<Entry, 'weight' | 'capacity'>): boolean {
  return weight === capacity
}

/**
 * Whether a place entered for the whole line. An upgraded reader weighs the whole line, too, but it never tells the
 * next by a write to its node. Schedule: U reads, and is upgraded; writer W waits right behind U; somebody breaks the
 * line, which marks U's node; U still writes. If W took that write for its turn, both would act.
 */
function enteredWhole(inFront: Named): boolean {
  return isWhole(inFront) && inFront.raise === undefined
}

export class Handover {
  readonly #client: ZooKeeperClient
  readonly #tells: boolean
  #mayWrite = true

  constructor(client: ZooKeeperClient, layout: Layout) {
    this.#client = client
    // In nodes whose layout is not ours other programs write, too: Curator's revocation does.
    this.#tells = layout.ownsLines
  }

  /** Whether this event at the place right ahead means that no place is ahead any more. */
  isTurn(standing: OwnPlace, inFront: Named, type: WatchEventType): boolean {
    // In a line that is not ours alone a list must show that nobody has come whose name can't be read.
    if (!this.#tells || !isWhole(standing.entry)) return false
    if (type === 'deleted') return standing.behindSingle
    return type === 'dataChanged' && enteredWhole(inFront)
  }

  /** Deletes the node of a place, with word to the next waiter if there may be one. */
  async leave({ path, entry, granted, wanted, broken }: OwnPlace): Promise<void> {
    if (this.#tells && this.#mayWrite && granted && wanted && isWhole(entry)) {
      try {
        await this.#client.multi([
          { op: 'setData', path, data: NO_DATA },
          { op: 'delete', path },
        ])
        return
      } catch (error) {
        if (!isRefusedWrite(error)) throw error
        // The ACL lets us delete there, but not write: so waiters must list.
        this.#mayWrite = false
      }
    }
    // Only a break writes to the node of a place that shares its line. A broken place that has not heard of it stays.
    const isMarked = this.#tells && !isWhole(entry) && !broken
    await this.#client.delete(path, isMarked ? UNWRITTEN : undefined)
  }
}

/** Whether the first operation of the multi, the write, was the one without permission. */
function isRefusedWrite(error: unknown): boolean {
  return isZooKeeperError(error, 'NoAuth') && (error as ZooKeeperError).index === 0
}
