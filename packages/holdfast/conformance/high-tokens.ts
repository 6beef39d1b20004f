/** A driver between core and the store under test that raises every token by the same amount. */
import type { Driver, Entry, Place, Stop, Wake } from '../src/contract/driver.ts'
import { FaultyDriver } from './faulty.ts'

export class HighTokens extends FaultyDriver {
  readonly #by: bigint

  constructor(inner: Driver, by: bigint) {
    super(inner, {})
    this.#by = by
  }

  override async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    return this.#raise(await super.enter(entry, wait))
  }

  override async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return (await super.touch(entries)).map((place) => this.#raise(place))
  }

  override watch(line: string, id: string | null, wake: Wake): Promise<Stop> {
    return super.watch(line, id, (push) => wake(push && { ...push, token: push.token + this.#by }))
  }

  #raise(place: Place | null): Place | null {
    return place && { ...place, token: place.token + this.#by }
  }
}
