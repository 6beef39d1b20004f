/** A first-in, first-out queue on a ring: an array's shift() moves every element once 50 000 commands are in flight. */
export class Fifo<T> {
  #ring: (T | undefined)[] = emptyRing<T>(64)
  #mask = 63
  #head = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: T): void {
    if (this.#size > this.#mask) this.#grow()
    this.#ring[(this.#head + this.#size) & this.#mask] = item
    this.#size++
  }

  peek(): T | undefined {
    return this.#ring[this.#head]
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined
    const item = this.#ring[this.#head]
    this.#ring[this.#head] = undefined
    this.#head = (this.#head + 1) & this.#mask
    this.#size--
    return item
  }

  /** Empties the queue and gives what was in it, oldest first. */
  drain(): T[] {
    const items = [...this]
    this.#ring = emptyRing<T>(64)
    this.#mask = 63
    this.#head = 0
    this.#size = 0
    return items
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let index = 0; index < this.#size; index++) yield this.#ring[(this.#head + index) & this.#mask] as T
  }

  #grow(): void {
    const length = this.#ring.length * 2
    const ring = emptyRing<T>(length)
    let index = 0
    for (const item of this) ring[index++] = item
    this.#ring = ring
    this.#mask = length - 1
    this.#head = 0
  }
}

/** Filled, not only sized: V8 then keeps it as a plain array without holes. */
function emptyRing<T>(length: number): (T | undefined)[] {
  return Array.from({ length }, () => undefined)
}
