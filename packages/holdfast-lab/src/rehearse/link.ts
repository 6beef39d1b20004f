/** An actor's driver: the memory store, with a way there and back that takes time. */
import type {
  CellView,
  Change,
  Demand,
  Driver,
  Entry,
  Instant,
  LineView,
  Place,
  Push,
  Stop,
  Taken,
  Traits,
  Wake,
} from 'holdfast'
import { isGranted } from 'holdfast/internal'
import { type Actor, LATENCY_MS } from './actor.ts'

/** The memory store has all of these. */
export type WholeDriver = Driver & Required<Pick<Driver, 'enterAll' | 'rename' | 'reweigh' | 'take'>>

export class Link implements WholeDriver {
  readonly name = 'rehearsal'
  readonly traits: Traits
  readonly #store: WholeDriver
  readonly #actor: Actor
  readonly #entries = new Map<string, Entry>()

  constructor(store: WholeDriver, actor: Actor) {
    this.#store = store
    this.#actor = actor
    this.traits = { ...store.traits, scope: 'network', safety: 'rehearsed' }
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    this.#entries.set(entry.id, entry)
    return this.#place(entry, () => this.#store.enter(entry, wait))
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return this.#places(entries, () => this.#store.touch(entries))
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const since = this.#since()
    const places = await this.#actor.ask(async () => {
      const found = await this.#store.enterAll(entries)
      for (const [i, place] of (found ?? []).entries()) this.#saw(entries[i], place)
      return found
    })
    return places === null ? null : places.map((place) => ({ ...place, since }))
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    this.#entries.set(id, { ...entry, id })
    return this.#place({ ...entry, id }, () => this.#store.rename(entry, id))
  }

  async reweigh(entry: Entry, turn: number): Promise<Place | null> {
    return this.#place(entry, () => this.#store.reweigh(entry, turn))
  }

  async leave(entry: Entry, afterMs?: number): Promise<void> {
    this.#actor.left(entry)
    await this.#actor.ask(() => this.#store.leave(entry, afterMs))
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    return this.#store.watch(line, id, (push?: Push) => {
      const entry = push === undefined ? undefined : this.#entries.get(push.id)
      if (push !== undefined && entry !== undefined) this.#actor.granted(entry, push.token)
      const { world } = this.#actor
      this.#actor.at(world.now + LATENCY_MS, () => this.#actor.run(() => wake(push)))
    })
  }

  list(prefix: string): AsyncIterable<LineView> {
    return this.#store.list(prefix)
  }

  swap(key: string, change: Change | null): Promise<CellView> {
    return this.#actor.ask(() => this.#store.swap(key, change))
  }

  break(line: string, now: boolean): Promise<number> {
    return this.#actor.ask(() => this.#store.break(line, now))
  }

  take(key: string, demand: Demand): Promise<Taken> {
    return this.#actor.ask(() => this.#store.take(key, demand))
  }

  async close(): Promise<void> {}

  async #place(entry: Entry, act: () => Promise<Place | null>): Promise<Place | null> {
    const [place] = await this.#places([entry], async () => [await act()])
    return place ?? null
  }

  async #places(entries: readonly Entry[], act: () => Promise<(Place | null)[]>): Promise<(Place | null)[]> {
    const since = this.#since()
    const places = await this.#actor.ask(async () => {
      const found = await act()
      for (const [i, place] of found.entries()) this.#saw(entries[i], place)
      return found
    })
    return places.map((place) => (place === null ? null : { ...place, since }))
  }

  /** Validity counts from before the request was sent, by the clock of the actor. */
  #since(): Instant {
    return { monoMs: this.#actor.now(), wallMs: this.#actor.wallNow() }
  }

  #saw(entry: Entry | undefined, place: Place | null): void {
    if (entry !== undefined && place !== null && isGranted(entry, place)) this.#actor.granted(entry, place.token)
  }
}
