/** A simulated store: the real state machine, plus restarts that forget what was acknowledged. */
import type {
  CellView,
  Change,
  Demand,
  Entry,
  LineView,
  Place,
  PlaceView,
  Taken,
} from '../../../holdfast/src/contract/driver.ts'
import { Buckets } from '../../../holdfast/src/stores/memory/buckets.ts'
import type { MemoryPlace } from '../../../holdfast/src/stores/memory/line.ts'
import { type Answer, MemoryStore, type StoreListener } from '../../../holdfast/src/stores/memory/store.ts'
import { type Asked, Mirror } from '../../../holdfast/conformance/index.ts'
import type { World } from '../../src/simulated/world.ts'

export type Request =
  | { readonly kind: 'enter'; readonly entry: Entry; readonly wait: boolean }
  | { readonly kind: 'touch'; readonly entries: readonly Entry[] }
  | { readonly kind: 'leave'; readonly entry: Entry }
  | { readonly kind: 'enterAll'; readonly entries: readonly Entry[] }
  | { readonly kind: 'reweigh'; readonly entry: Entry; readonly turn: number }
  | { readonly kind: 'break'; readonly line: string }

export type Reply = (Answer | null)[]

/** Microseconds of the store's clock: the floor below which no token is given out, as on Redis. */
const floor = (now: number): bigint => BigInt(Math.floor(now * 1_000)) + 1n

/** A place that was broken: it weighs until then, whatever its holder does. */
interface Broken {
  readonly line: string
  readonly token: Place['token']
  readonly weight: number
  readonly lapsesAt: number
}

export class Server implements StoreListener {
  /** When acknowledged writes were last lost; holds from before may overlap with those from after. */
  failedOverAt = -1
  onGranted: (id: string, token: Place['token']) => void = () => {}
  onBroken: (id: string) => void = () => {}
  /** The store and the model have parted. */
  onDisagreement: (what: string) => void = () => {}
  onChanged: (line: string) => void = () => {}
  /** When a line was last broken. */
  readonly brokenAt: Map<string, number> = new Map()
  #broken: Broken[] = []
  readonly #world: World
  #store: MemoryStore
  readonly #buckets = new Buckets()
  readonly #log: { readonly at: number; readonly request: Request }[] = []
  #isReplaying = false
  #mirror: Mirror | null = new Mirror(true)

  constructor(world: World) {
    this.#world = world
    this.#store = new MemoryStore(this, floor)
  }

  handle(request: Request): Reply {
    const { now } = this.#world
    this.#log.push({ at: now, request })
    const reply = this.#apply(request, now)
    this.#compare(request, reply, now)
    return reply
  }

  /** Each answer is compared with the model's, until a fail-over forgets what the model knows. */
  #compare(request: Request, reply: Reply, now: number): void {
    for (const [i, asked] of askedBy(request, reply).entries()) {
      const fault = this.#mirror?.disagree(asked, reply[i] ?? null, now) ?? null
      if (fault !== null) this.onDisagreement(fault)
    }
  }

  /** Cells and buckets are no part of what a failover forgets. */
  swap(key: string, change: Change | null): CellView {
    return this.#store.cells.swap(key, change, this.#world.now)
  }

  take(key: string, demand: Demand): Taken {
    return this.#buckets.take(key, demand, this.#world.now)
  }

  /** A replica takes over that has missed the last requests. */
  failOver(missed: number): void {
    this.#log.splice(Math.max(0, this.#log.length - missed))
    this.#store = new MemoryStore(this, floor)
    this.#isReplaying = true
    for (const { at, request } of this.#log) this.#apply(request, at)
    this.#isReplaying = false
    this.failedOverAt = this.#world.now
    this.#mirror = null
    // What was broken may have been forgotten with the rest.
    this.#broken = []
  }

  /** The weight of broken places of a line that still stand, besides the one with this token. */
  brokenWeight(line: string, token: Place['token']): number {
    this.#broken = this.#broken.filter(({ lapsesAt }) => lapsesAt > this.#world.now)
    let weight = 0
    for (const each of this.#broken) if (each.line === line && each.token !== token) weight += each.weight
    return weight
  }

  /** How many places stand in all lines. */
  crowd(): number {
    let count = 0
    for (const line of this.#store.lines('', this.#world.now)) {
      for (let place = line.head; place !== null; place = place.next) count++
    }
    return count
  }

  /** The lines as people see them. */
  views(prefix: string): LineView[] {
    const { now } = this.#world
    return this.#store.lines(prefix, now).map((line) => {
      const all: PlaceView[] = []
      let held = 0
      for (let place = line.head; place !== null; place = place.next) {
        const { token, weight, enteredAt, lapsesAt } = place
        if (place.granted) held++
        const times = { ageMs: now - enteredAt, leftMs: lapsesAt - now }
        all.push({ token, weight, ...times, label: '', host: 'sim', pid: 0 })
      }
      return { name: line.name, capacity: line.capacity, holders: all.slice(0, held), waiters: all.slice(held) }
    })
  }

  granted(place: MemoryPlace): void {
    if (!this.#isReplaying) this.onGranted(place.id, place.token)
  }

  broken({ id, token, weight, lapsesAt, line }: MemoryPlace): void {
    if (this.#isReplaying) return
    this.brokenAt.set(line.name, this.#world.now)
    // Broken once more by a request that came twice, it weighs once.
    this.#broken = this.#broken.filter((each) => each.token !== token)
    this.#broken.push({ line: line.name, token, weight, lapsesAt })
    this.onBroken(id)
  }

  changed(line: string): void {
    if (!this.#isReplaying) this.onChanged(line)
  }

  #apply(request: Request, now: number): Reply {
    switch (request.kind) {
      case 'enter':
        return [this.#store.enter(request.entry, request.wait, now)]
      case 'touch':
        return request.entries.map((entry) => this.#store.touch(entry, now))
      case 'leave':
        this.#store.leave(request.entry, 0, now)
        return []
      case 'enterAll':
        return this.#store.enterAll(request.entries, now) ?? []
      case 'reweigh':
        return [this.#store.reweigh(request.entry, request.turn, now)]
      case 'break':
        this.#store.break(request.line, false, now)
        return []
      default:
        throw new Error('unknown request')
    }
  }
}

/** A request as the model knows it. Several entries that found no room together have left no trace. */
function askedBy(request: Request, reply: Reply): Asked[] {
  if (request.kind === 'touch') return request.entries.map((entry) => ({ kind: 'touch', entry }))
  if (request.kind === 'break') return [{ kind: 'break', line: request.line, atOnce: false }]
  if (request.kind !== 'enterAll') return [request]
  return reply.length === 0 ? [] : request.entries.map((entry) => ({ kind: 'enter', entry, wait: false }))
}
