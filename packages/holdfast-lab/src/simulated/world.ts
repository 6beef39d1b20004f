/** Simulated time: events in order, and nothing else happens. */
import { setImmediate } from 'node:timers'

interface Happening {
  readonly at: number
  readonly order: number
  readonly act: () => void
  cancelled: boolean
}

export class World {
  now = 0
  #order = 0
  readonly #heap: Happening[] = []
  /** A digest of everything that happened, in order: equal digests mean the same interleaving. */
  digest = 2_166_136_261

  /** Calls `act` at that time, after everything scheduled for earlier times. Call the result to cancel. */
  at(time: number, act: () => void): () => void {
    const event: Happening = { at: Math.max(time, this.now), order: this.#order++, act, cancelled: false }
    this.#push(event)
    return () => {
      event.cancelled = true
    }
  }

  /** Everything that an event set in motion settles before time goes on. */
  settle: () => Promise<void> = () => new Promise((resolve) => setImmediate(resolve))

  /** Called with every note, if people will read the run. */
  onNote: ((at: number, what: string) => void) | null = null

  note(what: string): void {
    this.onNote?.(this.now, what)
    for (let i = 0; i < what.length; i++) this.digest = Math.imul(this.digest ^ what.charCodeAt(i), 16_777_619) >>> 0
  }

  /** Runs until `isOver`, or until nothing is left to happen. Calls `afterEach` when all promises have settled. */
  async run(endsAt: number, isOver: () => boolean, afterEach: () => void): Promise<void> {
    for (let event = this.#pop(); event !== undefined; event = this.#pop()) {
      if (event.cancelled) continue
      if (event.at > endsAt) {
        this.now = endsAt
        return
      }
      this.now = event.at
      event.act()
      await this.settle()
      afterEach()
      if (isOver()) return
    }
  }

  /** Lets so much time pass. */
  async rest(ms: number): Promise<void> {
    const until = this.now + ms
    this.at(until, () => {})
    await this.run(
      until,
      () => this.now >= until,
      () => {},
    )
  }

  #push(event: Happening): void {
    const heap = this.#heap
    let i = heap.push(event) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!isBefore(event, heap[parent] as Happening)) break
      heap[i] = heap[parent] as Happening
      i = parent
    }
    heap[i] = event
  }

  #pop(): Happening | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (heap.length === 0 || last === undefined) return first
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Happening, heap[child] as Happening)) child++
      if (!isBefore(heap[child] as Happening, last)) break
      heap[i] = heap[child] as Happening
      i = child
    }
    heap[i] = last
    return first
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
