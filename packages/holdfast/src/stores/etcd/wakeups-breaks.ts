/**
 * Rung by whoever breaks a line, and heard by every process that has held a place for some time: a holder does not
 * watch its own key, which would cost a request for each hold, and would otherwise be told only at its next heartbeat.
 */
import type { EtcdClient } from '../../clients/etcd/index.ts'
import type { Keys } from './keys.ts'
import { LastingWatch } from './lasting-watch.ts'
import type { OwnPlaces } from './places.ts'
import type { Wakeups } from './wakeups.ts'

export class BreakWakeups {
  readonly #client: EtcdClient
  readonly #keys: Keys
  readonly #ownPlaces: OwnPlaces
  readonly #wakeups: Wakeups
  #lookout: LastingWatch | null = null

  constructor(client: EtcdClient, keys: Keys, ownPlaces: OwnPlaces, wakeups: Wakeups) {
    this.#client = client
    this.#keys = keys
    this.#ownPlaces = ownPlaces
    this.#wakeups = wakeups
  }

  /** Begins to listen, unless it does. */
  listen(): void {
    const { bell } = this.#keys
    if (this.#lookout !== null || bell === null) return
    this.#lookout = new LastingWatch(this.#client, bell, undefined, (events) => {
      for (const { kv } of events) this.#rung(Buffer.from(kv.value).toString())
    })
    this.#lookout.openSoon()
  }

  /** Nothing is held any more. */
  rest(): void {
    this.#lookout?.close()
    this.#lookout = null
  }

  #rung(line: string): void {
    for (const { entry } of this.#ownPlaces.of(line)) this.#wakeups.wake(entry.id)
  }
}
