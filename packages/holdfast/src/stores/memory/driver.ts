/** The memory driver: lines shared by the tasks of one process. The worked example of a driver. */
import type { Runtime } from '../../contract/runtime.ts'
import { instant } from '../../contract/validity.ts'
import type {
  CellView,
  Change,
  Demand,
  Driver,
  Entry,
  Instant,
  LineView,
  Place,
  Stop,
  Taken,
  Traits,
  Wake,
} from '../../contract/driver.ts'
import { placeView } from '../view.ts'
import { Buckets } from './buckets.ts'
import type { MemoryPlace } from './line.ts'
import { type Answer, MemoryStore, type StoreListener } from './store.ts'

const TRAITS: Traits = Object.freeze({
  fair: true,
  fenced: true,
  counting: true,
  push: 'answer',
  ttlMsMin: 1,
  lingers: true,
  scope: 'process',
  safety: 'Holds within this process; nothing survives it, and no other process sees it.',
})

/** The lines that several memory drivers of one process share. */
export class SharedLines implements StoreListener {
  readonly store: MemoryStore = new MemoryStore(this)
  readonly buckets: Buckets = new Buckets()
  readonly #wakes = new Map<string, Wake>()
  readonly #observers = new Map<string, Set<Wake>>()

  granted(place: MemoryPlace): void {
    this.#wakes.get(place.id)?.({ id: place.id, token: place.token })
  }

  broken(place: MemoryPlace): void {
    this.#wakes.get(place.id)?.()
  }

  changed(line: string): void {
    if (this.#observers.size === 0) return
    for (const wake of this.#observers.get(line) ?? []) wake()
  }

  watch(line: string, id: string | null, wake: Wake): Stop {
    if (id !== null) {
      this.#wakes.set(id, wake)
      return () => this.#wakes.delete(id)
    }
    const wakes = this.#observers.get(line) ?? new Set()
    this.#observers.set(line, wakes.add(wake))
    return () => {
      wakes.delete(wake)
      if (wakes.size === 0) this.#observers.delete(line)
    }
  }
}

export class MemoryDriver implements Driver {
  readonly name = 'memory'
  readonly traits: Traits = TRAITS
  readonly #lines: SharedLines
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>

  /** @internal */
  constructor(lines: SharedLines, runtime: Pick<Runtime, 'now' | 'wallNow'>) {
    this.#lines = lines
    this.#runtime = runtime
  }

  // Async, because an async method turns what the store throws into a rejection, as every driver must.
  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const since = instant(this.#runtime)
    return toPlace(this.#lines.store.enter(entry, wait, since.monoMs), since)
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const since = instant(this.#runtime)
    return entries.map((entry) => toPlace(this.#lines.store.touch(entry, since.monoMs), since))
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    this.#lines.store.leave(entry, afterMs, this.#runtime.now())
  }

  watch(line: string, id: string | null, wake: Wake): Stop {
    return this.#lines.watch(line, id, wake)
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    const now = this.#runtime.now()
    for (const line of this.#lines.store.lines(prefix, now)) {
      const holders = line.granted()
      const waiters: MemoryPlace[] = []
      for (let place = holders.at(-1)?.next ?? null; place !== null; place = place.next) waiters.push(place)
      const show = (place: MemoryPlace) =>
        placeView(
          { ...place, weight: line.weightOf(place) },
          { ageMs: now - place.enteredAt, leftMs: place.lapsesAt - now },
        )
      yield { name: line.name, capacity: line.capacity, holders: holders.map(show), waiters: waiters.map(show) }
    }
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    return this.#lines.store.cells.swap(key, change, this.#runtime.now())
  }

  async break(line: string, now: boolean): Promise<number> {
    return this.#lines.store.break(line, now, this.#runtime.now())
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const since = instant(this.#runtime)
    const answers = this.#lines.store.enterAll(entries, since.monoMs)
    return answers === null ? null : answers.map((answer) => ({ ...answer, since }))
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const since = instant(this.#runtime)
    return toPlace(this.#lines.store.rename(entry, id, since.monoMs), since)
  }

  async reweigh(entry: Entry, turn: number): Promise<Place | null> {
    const since = instant(this.#runtime)
    return toPlace(this.#lines.store.reweigh(entry, turn, since.monoMs), since)
  }

  take(key: string, demand: Demand): Taken {
    return this.#lines.buckets.take(key, demand, this.#runtime.now())
  }

  async close(): Promise<void> {}
}

function toPlace(answer: Answer | null, since: Instant): Place | null {
  if (answer === null) return null
  const { token, ahead, recheckMs, wanted } = answer
  return { token, ahead, recheckMs, since, wanted }
}
