/** One line in memory: places in the order of their tokens, as a linked list. */

export interface Standing {
  id: string
  readonly token: bigint
  readonly weight: number
  readonly ttlMs: number
  data: string
  readonly line: MemoryLine
  readonly enteredAt: number
  lapsesAt: number
  /** Told that it is granted, or found so by its own request. */
  granted: boolean
  /** Not to be renewed any more: it weighs until it lapses. */
  broken: boolean
  prev: Standing | null
  next: Standing | null
}

export class MemoryLine {
  readonly name: string
  readonly capacity: number
  head: Standing | null = null
  tail: Standing | null = null
  /** Nobody in the line lapses before this; it is a lower bound, so that most requests need not look. */
  lapsesFrom: number = Number.POSITIVE_INFINITY

  constructor(name: string, capacity: number) {
    this.name = name
    this.capacity = capacity
  }

  append(place: Standing): void {
    place.prev = this.tail
    if (this.tail === null) this.head = place
    else this.tail.next = place
    this.tail = place
    this.lapsesFrom = Math.min(this.lapsesFrom, place.lapsesAt)
  }

  remove(place: Standing): void {
    if (place.prev === null) this.head = place.next
    else place.prev.next = place.next
    if (place.next === null) this.tail = place.prev
    else place.next.prev = place.prev
  }

  /** The weight in front, and when the earliest of those can lapse. Stops once the answer is "blocked". */
  inFront(place: Standing): { readonly ahead: number; readonly lapsesAt: number } {
    let ahead = 0
    let lapsesAt = Number.POSITIVE_INFINITY
    for (let other = this.head; other !== null && other !== place; other = other.next) {
      ahead += other.weight
      lapsesAt = Math.min(lapsesAt, other.lapsesAt)
      if (ahead + place.weight > this.capacity) break
    }
    return { ahead, lapsesAt }
  }

  /** Marks those that have become granted and are not yet known to be; returns them in order. */
  newlyGranted(): Standing[] {
    const fresh: Standing[] = []
    let used = 0
    for (let place = this.head; place !== null; place = place.next) {
      used += place.weight
      if (used > this.capacity) break
      if (!place.granted) {
        place.granted = true
        fresh.push(place)
      }
    }
    return fresh
  }
}
