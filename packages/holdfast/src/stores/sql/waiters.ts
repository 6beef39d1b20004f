/**
 * Who wants to be woken in this process, and which of its places still wait: what pushes and polls are matched with.
 */
import { type Entry, isGranted, type Place, type Push, type Stop, type Wake } from '../../contract/driver.ts'

interface Watched {
  readonly line: string
  readonly wake: Wake
}

export class Waiters {
  readonly #places = new Map<string, Watched>()
  readonly #lines = new Map<string, Set<Wake>>()
  /** Ids whose latest answer was "blocked", with their lines; and the same by line, in the order in which they came. */
  readonly #waiting = new Map<string, string>()
  readonly #waitingIn = new Map<string, Set<string>>()
  /** Places that have become heavier and wait for others to go: their heartbeats ask with the weight that they have. */
  readonly #raising = new Map<string, Entry>()
  /** Called when there is something new to look out for. */
  onDemand: () => void = () => {}

  get waiting(): ReadonlyMap<string, string> {
    return this.#waiting
  }

  get waitingIn(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#waitingIn
  }

  isRaising(id: string): boolean {
    return this.#raising.has(id)
  }

  get hasRaising(): boolean {
    return this.#raising.size > 0
  }

  get observed(): string[] {
    return [...this.#lines.keys()]
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#lines.size === 0
  }

  watch(line: string, id: string | null, wake: Wake): Stop {
    if (id !== null) {
      this.#places.set(id, { line, wake })
      return () => {
        this.#places.delete(id)
        this.#raising.delete(id)
        this.#settle(id)
      }
    }
    const wakes = this.#lines.get(line) ?? new Set()
    this.#lines.set(line, wakes.add(wake))
    this.onDemand()
    return () => {
      wakes.delete(wake)
      if (wakes.size === 0 && this.#lines.get(line) === wakes) this.#lines.delete(line)
    }
  }

  /** Takes note of an answer about a place: only those that wait are polled for. */
  answered(asked: Entry, place: Place | null): void {
    const entry = this.#raising.get(asked.id) ?? asked
    if (place === null || isGranted(entry, place)) {
      this.#raising.delete(entry.id)
      this.#settle(entry.id)
    } else if (this.#places.has(entry.id) && !this.#waiting.has(entry.id)) {
      const { id, line } = entry
      this.#waiting.set(id, line)
      const ids = this.#waitingIn.get(line)
      if (ids === undefined) this.#waitingIn.set(line, new Set([id]))
      else ids.add(id)
      this.onDemand()
    }
  }

  /** Takes note of an answer about a place whose weight was changed to that of the entry. */
  reweighed(entry: Entry, place: Place | null): void {
    this.#raising.delete(entry.id)
    if (place !== null && !isGranted(entry, place) && this.#places.has(entry.id)) this.#raising.set(entry.id, entry)
    this.answered(entry, place)
  }

  wake(id: string, push?: Push): void {
    this.#settle(id)
    this.#places.get(id)?.wake(push)
  }

  changed(line: string): void {
    for (const wake of this.#lines.get(line) ?? []) wake()
  }

  /** It waits no more, or looks for itself. */
  #settle(id: string): void {
    const line = this.#waiting.get(id)
    if (line === undefined) return
    this.#waiting.delete(id)
    const ids = this.#waitingIn.get(line)
    ids?.delete(id)
    if (ids?.size === 0) this.#waitingIn.delete(line)
  }

  /** Something may have been missed: everybody who waits or observes looks for himself. */
  wakeAll(): void {
    for (const id of [...this.#waiting.keys()]) this.wake(id)
    for (const line of this.observed) this.changed(line)
  }
}
