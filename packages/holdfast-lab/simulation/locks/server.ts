/** A simulated store: the real state machine, plus restarts that forget what was acknowledged. */
import type { Entry, Place } from '../../src/driver.ts'
import type { Standing } from '../../src/drivers/memory/line.ts'
import { type Answer, MemoryStore, type StoreListener } from '../../src/drivers/memory/store.ts'
import type { World } from './world.ts'

export type Request =
  | { readonly kind: 'enter'; readonly entry: Entry; readonly wait: boolean }
  | { readonly kind: 'touch'; readonly entries: readonly Entry[] }
  | { readonly kind: 'leave'; readonly entry: Entry }

export type Reply = (Answer | null)[]

/** Microseconds of the store's clock: the floor below which no token is given out, as on Redis. */
const floor = (now: number): bigint => BigInt(Math.floor(now * 1_000)) + 1n

export class Server implements StoreListener {
  /** When acknowledged writes were last lost; holds from before may overlap with those from after. */
  failedOverAt = -1
  onGranted: (id: string, token: Place['token']) => void = () => {}
  readonly #world: World
  #store: MemoryStore
  readonly #log: { readonly at: number; readonly request: Request }[] = []
  #isReplaying = false

  constructor(world: World) {
    this.#world = world
    this.#store = new MemoryStore(this, floor)
  }

  handle(request: Request): Reply {
    this.#log.push({ at: this.#world.now, request })
    return this.#apply(request, this.#world.now)
  }

  /** A replica takes over that has missed the last requests. */
  failOver(missed: number): void {
    this.#log.splice(Math.max(0, this.#log.length - missed))
    this.#store = new MemoryStore(this, floor)
    this.#isReplaying = true
    for (const { at, request } of this.#log) this.#apply(request, at)
    this.#isReplaying = false
    this.failedOverAt = this.#world.now
  }

  /** How many places stand in all lines. */
  crowd(): number {
    let count = 0
    for (const line of this.#store.lines('', this.#world.now)) {
      for (let place = line.head; place !== null; place = place.next) count++
    }
    return count
  }

  granted(place: Standing): void {
    if (!this.#isReplaying) this.onGranted(place.id, place.token)
  }

  broken(): void {}

  changed(): void {}

  #apply(request: Request, now: number): Reply {
    switch (request.kind) {
      case 'enter':
        return [this.#store.enter(request.entry, request.wait, now)]
      case 'touch':
        return request.entries.map((entry) => this.#store.touch(entry, now))
      case 'leave':
        this.#store.leave(request.entry, 0, now)
        return []
      default:
        throw new Error('unknown request')
    }
  }
}
