/** One line in memory: places in the order of their tokens, as a linked list. */
import { holdersOf } from '../shared/holders.ts'

export interface MemoryPlace {
  id: string
  readonly token: bigint
  /** The weight at its enter. */
  readonly weight: number
  ttlMs: number
  data: string
  readonly line: MemoryLine
  readonly enteredAt: number
  lapsesAt: number
  /** True once it was woken with its grant, or its own request has found it granted. */
  granted: boolean
  /** The place must not be renewed any more: it counts until it lapses. */
  broken: boolean
  /** Counts the changes of its weight; a request with a lower turn is late. */
  turn: number
  prev: MemoryPlace | null
  next: MemoryPlace | null
}

/** A place that is heavier than when it entered. */
export interface Raised {
  readonly place: MemoryPlace
  readonly weight: number
  /**
   * The last token that was granted when this place became heavier. Places up to that token stay granted until they go.
   */
  readonly beside: bigint
}

export class MemoryLine {
  readonly name: string
  readonly capacity: number
  head: MemoryPlace | null = null
  tail: MemoryPlace | null = null
  /** At most one place is raised. */
  raised: Raised | null = null
  /** No place in the line lapses before this. It is a lower bound, so that most requests need not look. */
  lapsesFrom: number = Number.POSITIVE_INFINITY

  constructor(name: string, capacity: number) {
    this.name = name
    this.capacity = capacity
  }

  append(place: MemoryPlace): void {
    place.prev = this.tail
    if (this.tail === null) this.head = place
    else this.tail.next = place
    this.tail = place
    this.lapsesFrom = Math.min(this.lapsesFrom, place.lapsesAt)
  }

  remove(place: MemoryPlace): void {
    if (place.prev === null) this.head = place.next
    else place.prev.next = place.next
    if (place.next === null) this.tail = place.prev
    else place.next.prev = place.prev
    if (this.raised?.place === place) this.raised = null
  }

  /** The final weight of a place: for a raised place the new weight. */
  weightOf(place: MemoryPlace): number {
    return this.raised?.place === place ? this.raised.weight : place.weight
  }

  /**
   * The weight ahead of a place, and when the first of the places ahead can lapse. Stops once the answer is "blocked".
   */
  inFront(place: MemoryPlace): { readonly ahead: number; readonly lapsesAt: number } {
    const { raised } = this
    // A raised place waits for all places that were granted beside it, even for those behind it.
    const isRaised = raised?.place === place
    const till = isRaised ? raised.beside : place.token
    const mine = this.weightOf(place)
    let ahead = isRaised ? 0 : this.#extra(place)
    let lapsesAt = Number.POSITIVE_INFINITY
    for (let other = this.head; other !== null && other.token <= till; other = other.next) {
      if (other === place) continue
      ahead += other.weight
      lapsesAt = Math.min(lapsesAt, other.lapsesAt)
      if (ahead + mine > this.capacity) break
    }
    return { ahead, lapsesAt }
  }

  /** The places granted now: those at the front whose weights fit together. */
  granted(): MemoryPlace[] {
    return holdersOf(this.#places(), this.capacity, (place) => this.#extra(place))
  }

  *#places(): Generator<MemoryPlace> {
    for (let place = this.head; place !== null; place = place.next) yield place
  }

  /** Marks the places that have become granted and were not yet marked; returns them in order. */
  newlyGranted(): MemoryPlace[] {
    const fresh: MemoryPlace[] = []
    for (const place of this.granted()) {
      if (place.granted || (this.raised?.place === place && this.inFront(place).ahead > 0)) continue
      place.granted = true
      fresh.push(place)
    }
    return fresh
  }

  /**
   * Whether another place waits. Grants are a prefix of the line: if its last place is granted, only a raised place can
   * be waiting.
   */
  isAwaitedBesides(place: MemoryPlace): boolean {
    const { tail, raised } = this
    const isWaiting = (other: MemoryPlace | undefined | null): boolean => other?.granted === false && other !== place
    return isWaiting(tail) || isWaiting(raised?.place)
  }

  /** How much heavier a raised place ahead is for a place that was not granted beside it. */
  #extra(place: MemoryPlace): number {
    const { raised } = this
    return raised === null || place.token <= raised.beside ? 0 : raised.weight - raised.place.weight
  }
}
