/**
 * How one that has the whole line passes it on, so that the next knows its turn by the event alone, without a question.
 *
 * Who is granted has nobody in front, and nobody is ever inserted there. So when the one right in front of me was granted as
 * it left, it is my turn. A `deleted` event does not say that: it may have been a waiter that gave up, a session that ended,
 * a hand. So who is granted leaves by two changes in one transaction: it writes to its node, and deletes it. A watch fires
 * once, at the first of them, and the next is told `dataChanged`. Nothing else writes to such a node (a break stands beside
 * the line, see breaks.ts), and a server that arms a watch anew after a cut tells `deleted` of what it has missed.
 */
import type { Entry } from '../../driver.ts'
import { isZooKeeperError, type WatchEventType, type ZooKeeperClient, type ZooKeeperError } from './client/index.ts'
import type { Layout, Named } from './layout.ts'
import type { Standing } from './standing.ts'

const NO_DATA = new Uint8Array(0)

/** Whether it has the line for itself when it is granted. */
export function isWhole({ weight, capacity }: Pick<Entry, 'weight' | 'capacity'>): boolean {
  return weight === capacity
}

export class Turns {
  readonly #client: ZooKeeperClient
  readonly #tells: boolean
  #mayWrite = true

  constructor(client: ZooKeeperClient, layout: Layout) {
    this.#client = client
    // In nodes that are not ours to lay out, others write: Curator's revocation does.
    this.#tells = layout.ownsLines
  }

  /** Whether what happened to the one right in front leaves nobody in front of a place. */
  isTurn(standing: Standing, inFront: Named, type: WatchEventType): boolean {
    if (!isWhole(standing.entry)) return false
    if (type === 'deleted') return standing.behindSingle
    return type === 'dataChanged' && this.#tells && isWhole(inFront)
  }

  /** Deletes the node of a place, with word to the next if there may be one. */
  async leave({ path, entry, granted, wanted }: Standing): Promise<void> {
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
    await this.#client.delete(path)
  }
}

/** The first operation of the multi, the write, was the one that was not permitted. */
function isRefusedWrite(error: unknown): boolean {
  return isZooKeeperError(error, 'NoAuth') && (error as ZooKeeperError).index === 0
}
