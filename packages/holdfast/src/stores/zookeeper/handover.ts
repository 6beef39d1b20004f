/**
 * How one that has the whole line passes it on, so that the next knows its turn by the event alone, without a question.
 *
 * A holder has nobody in front, and nobody is ever inserted there. So if the place right in front of a waiter was
 * granted when it left, the waiter is next. A `deleted` event alone does not say so: a waiter may have given up, a
 * session may have ended, somebody may have deleted the node by hand. So a holder leaves by two changes in one
 * transaction: it writes to its node, then deletes it. A watch fires once, at the first change, and the waiter is told
 * `dataChanged`. Nothing else writes to such a node: a break stands beside the line (wakeups-breaks.ts), and a server
 * that sets a watch again after a cut tells `deleted` of what was missed.
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
/** The version of a node whose data nobody has written since it was made. */
const UNWRITTEN = 0

/** Whether it has the line for itself when it is granted. */
export function isWhole({ weight, capacity }: Pick<Entry, 'weight' | 'capacity'>): boolean {
  return weight === capacity
}

export class Handover {
  readonly #client: ZooKeeperClient
  readonly #tells: boolean
  #mayWrite = true

  constructor(client: ZooKeeperClient, layout: Layout) {
    this.#client = client
    // In nodes that are not ours to lay out, others write: Curator's revocation does.
    this.#tells = layout.ownsLines
  }

  /** Whether what happened to the one right in front leaves nobody in front of a place. */
  isTurn(standing: OwnPlace, inFront: Named, type: WatchEventType): boolean {
    // Where the line is not ours alone, a list has to show that nobody has come whose name can't be read.
    if (!this.#tells || !isWhole(standing.entry)) return false
    if (type === 'deleted') return standing.behindSingle
    return type === 'dataChanged' && isWhole(inFront)
  }

  /** Deletes the node of a place, with word to the next if there may be one. */
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
        // The ACL lets us delete there, and not write: they list.
        this.#mayWrite = false
      }
    }
    // Only a break writes to the node of a place that shares its line: who was broken, and has not heard of it, stays.
    const isMarked = this.#tells && !isWhole(entry) && !broken
    await this.#client.delete(path, isMarked ? UNWRITTEN : undefined)
  }
}

/** The first operation of the multi, the write, was the one that was not permitted. */
function isRefusedWrite(error: unknown): boolean {
  return isZooKeeperError(error, 'NoAuth') && (error as ZooKeeperError).index === 0
}
