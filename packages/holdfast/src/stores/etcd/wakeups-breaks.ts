/**
 * Rung by whoever breaks a line, and heard by every process that has held a place for some time: a holder does not watch
 * its own key, which would cost a request for each hold, and would otherwise be told only at its next heartbeat.
 */
import type { EtcdClient } from './client/index.ts'
import type { Keys } from './keys.ts'
import { Lookout } from './lookout.ts'
import type { Standings } from './standing.ts'
import type { Vigils } from './vigils.ts'

export class Bell {
  readonly #client: EtcdClient
  readonly #keys: Keys
  readonly #standings: Standings
  readonly #vigils: Vigils
  #lookout: Lookout | null = null

  constructor(client: EtcdClient, keys: Keys, standings: Standings, vigils: Vigils) {
    this.#client = client
    this.#keys = keys
    this.#standings = standings
    this.#vigils = vigils
  }

  /** Begins to listen, unless it does. */
  listen(): void {
    if (this.#lookout !== null) return
    this.#lookout = new Lookout(this.#client, this.#keys.bell, undefined, (events) => {
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
    for (const { entry } of this.#standings.of(line)) this.#vigils.wake(entry.id)
  }
}
