/**
 * One direction of one proxied connection: parcels go in on the left and come out on the right in order, late, or
 * never.
 */

/** What happens to a parcel: forwarded, queued until healed, or discarded. */
export type Flow = 'pass' | 'hold' | 'drop'

/**
 * What travels. Opening, ending and resetting a connection are parcels too: a black hole swallows them just as it
 * swallows bytes.
 */
export type Parcel = { readonly kind: 'open' | 'end' | 'reset' } | { readonly kind: 'bytes'; readonly bytes: Buffer }

interface PipeEnds {
  /** Takes a parcel out; false: take nothing more until `unblock()`. */
  readonly deliver: (parcel: Parcel) => boolean
  /** The queue grew too long (true) or is short again (false): stop or resume reading. */
  readonly pressure: (high: boolean) => void
}

/** A real network path holds little: past this the sender must wait, as with a full socket buffer. */
const HIGH_WATER_BYTES = 1 << 20

/** An ordered queue with a delay and a gate. */
export class Pipe {
  readonly #ends: PipeEnds
  readonly #queue: { readonly parcel: Parcel; dueMs: number }[] = []
  #flow: Flow
  #delayMs: number
  #timer: NodeJS.Timeout | undefined
  #queuedBytes = 0
  #droppedBytes = 0
  #blocked = false
  #high = false
  #torn = false
  #closed = false

  constructor(flow: Flow, delayMs: number, ends: PipeEnds) {
    this.#flow = flow
    this.#delayMs = delayMs
    this.#ends = ends
  }

  /**
   * True once something was discarded: what follows would be a stream with a hole, which no TCP connection ever shows.
   */
  get torn(): boolean {
    return this.#torn
  }

  get heldBytes(): number {
    return this.#queuedBytes
  }

  get droppedBytes(): number {
    return this.#droppedBytes
  }

  push(parcel: Parcel): void {
    if (this.#closed) return
    if (this.#flow === 'drop' || this.#torn) {
      this.#torn = true
      if (parcel.kind === 'bytes') this.#droppedBytes += parcel.bytes.length
      return
    }
    const last = this.#queue.at(-1)?.dueMs ?? 0
    this.#queue.push({ parcel, dueMs: Math.max(performance.now() + this.#delayMs, last) })
    if (parcel.kind === 'bytes') this.#queuedBytes += parcel.bytes.length
    this.#pump()
  }

  /** Changes gate and delay, even for queued parcels: a shorter delay lets them out sooner, `drop` discards them. */
  set(flow: Flow, delayMs: number): void {
    this.#flow = flow
    this.#delayMs = delayMs
    if (flow === 'drop' && this.#queue.length > 0) {
      this.#torn = true
      this.#droppedBytes += this.#queuedBytes
      this.#queuedBytes = 0
      this.#queue.length = 0
    }
    const latest = performance.now() + delayMs
    for (const entry of this.#queue) entry.dueMs = Math.min(entry.dueMs, latest)
    this.#pump()
  }

  /** The taker has room again. */
  unblock(): void {
    this.#blocked = false
    this.#pump()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#queue.length = 0
    this.#queuedBytes = 0
  }

  #pump(): void {
    clearTimeout(this.#timer)
    this.#drain()
    const high = this.#queuedBytes > HIGH_WATER_BYTES
    if (high === this.#high || this.#closed) return
    this.#high = high
    this.#ends.pressure(high)
  }

  #drain(): void {
    while (!this.#closed && !this.#blocked && this.#flow === 'pass') {
      const head = this.#queue[0]
      if (head === undefined) return
      const waitMs = head.dueMs - performance.now()
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#pump(), Math.ceil(waitMs))
        this.#timer.unref()
        return
      }
      this.#queue.shift()
      if (head.parcel.kind === 'bytes') this.#queuedBytes -= head.parcel.bytes.length
      this.#blocked = !this.#ends.deliver(head.parcel)
    }
  }
}
