/**
 * Tells holders that their line was broken. Whoever breaks a line writes one key (the bell), and every process that has
 * held a place for some time watches that key. To watch each holder's own key would cost a request for each hold; with
 * neither, a holder would learn of the break only at its next heartbeat.
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

  /** Begins to listen, unless it already listens. */
  listen(): void {
    const { bell } = this.#keys
    if (this.#lookout !== null || bell === null) return
    this.#lookout = new LastingWatch(this.#client, bell, undefined, (events) => {
      for (const { kv } of events) this.#rung(Buffer.from(kv.value).toString())
    })
    this.#lookout.openSoon()
  }

  /** This process holds nothing any more. */
  rest(): void {
    this.#lookout?.close()
    this.#lookout = null
  }

  #rung(line: string): void {
    for (const { entry } of this.#ownPlaces.of(line)) this.#wakeups.wake(entry.id)
  }
}
