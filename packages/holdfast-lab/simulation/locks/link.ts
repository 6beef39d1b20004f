/** A client's driver in the simulation: requests and pushes travel, and may be late, lost or doubled. */
import { StoreUnreachableError } from '../../../holdfast/src/contract/errors.ts'
import { instant } from '../../../holdfast/src/contract/validity.ts'
import type {
  CellView,
  Change,
  Demand,
  Driver,
  Entry,
  LineView,
  Place,
  Push,
  Stop,
  Taken,
  Traits,
  Wake,
} from '../../../holdfast/src/contract/driver.ts'
import type { Answer } from '../../../holdfast/src/stores/memory/store.ts'
import type { Machine } from './machine.ts'
import type { Reply, Request, Server } from './server.ts'
import type { Weather } from './weather.ts'
import type { World } from '../../src/simulated/world.ts'

export class Link implements Driver {
  readonly name = 'sim'
  readonly traits: Traits
  readonly #world: World
  readonly #server: Server
  readonly #machine: Machine
  readonly #weather: Weather
  readonly #wakes = new Map<string, Wake>()
  /** Those that hear of every change of a line. */
  readonly #observers = new Map<string, Set<Wake>>()
  /** Only on a store that counts by itself; on others a rate limit is a cell. */
  readonly take?: (key: string, demand: Demand) => Promise<Taken>

  constructor(
    world: World,
    server: Server,
    machine: Machine,
    weather: Weather,
    push: Traits['push'],
    isCounter = false,
  ) {
    this.#world = world
    this.#server = server
    this.#machine = machine
    this.#weather = weather
    this.traits = {
      fair: true,
      fenced: true,
      counting: true,
      push,
      ttlMsMin: 1,
      lingers: true,
      scope: 'network',
      safety: 'simulated',
    }
    if (isCounter) this.take = (key, demand) => this.#take(key, demand)
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const since = instant(this.#machine.runtime)
    const [answer] = await this.#ask({ kind: 'enter', entry, wait })
    return answer === null || answer === undefined ? null : { ...answer, since }
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const since = instant(this.#machine.runtime)
    const answers = await this.#ask({ kind: 'touch', entries })
    return answers.map((answer: Answer | null) => (answer === null ? null : { ...answer, since }))
  }

  async leave(entry: Entry): Promise<void> {
    await this.#ask({ kind: 'leave', entry })
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const since = instant(this.#machine.runtime)
    const answers = await this.#ask({ kind: 'enterAll', entries })
    return answers.length === 0 ? null : answers.map((answer) => ({ ...(answer as Answer), since }))
  }

  async reweigh(entry: Entry, turn: number): Promise<Place | null> {
    const since = instant(this.#machine.runtime)
    const [answer] = await this.#ask({ kind: 'reweigh', entry, turn })
    return answer === null || answer === undefined ? null : { ...answer, since }
  }

  /** In force at once, or after a while, as the weather is: the caller may change its mind meanwhile. */
  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    const begin = (): Stop => (id === null ? this.#observe(line, wake) : this.#watch(id, wake))
    const { watchMs } = this.#weather
    if (watchMs === 0) return begin()
    return new Promise((resolve) => {
      this.#machine.runtime.after(watchMs, () => resolve(begin()), true)
    })
  }

  #watch(id: string, wake: Wake): Stop {
    this.#wakes.set(id, wake)
    return () => this.#wakes.delete(id)
  }

  #observe(line: string, wake: Wake): Stop {
    const wakes = this.#observers.get(line) ?? new Set()
    this.#observers.set(line, wakes.add(wake))
    return () => wakes.delete(wake)
  }

  /** The store tells who observes the line that something in it has changed. */
  changed(line: string): void {
    if (this.traits.push === 'none') return
    for (const wake of this.#observers.get(line) ?? []) this.#deliver(() => wake())
  }

  /** The store tells this place that it is granted. False: it is not one of ours. */
  push(push: Push): boolean {
    return this.#tell(push.id, this.traits.push === 'answer' ? push : undefined)
  }

  /** The store tells this place that it was broken. */
  broken(id: string): boolean {
    return this.#tell(id, undefined)
  }

  #tell(id: string, push: Push | undefined): boolean {
    if (!this.#wakes.has(id)) return false
    if (this.traits.push !== 'none') this.#deliver(() => this.#wakes.get(id)?.(push))
    return true
  }

  #deliver(tell: () => void): void {
    for (const delayMs of this.#weather.pushes(this.#machine)) {
      this.#world.at(this.#world.now + delayMs, () =>
        this.#machine.act(() => {
          this.#world.note(`push ${this.#machine.name}`)
          tell()
        }),
      )
    }
  }

  #ask(request: Request): Promise<Reply> {
    const said = (reply: Reply): string =>
      reply.map((place) => (place === null ? 'null' : `${place.token} behind ${place.ahead}`)).join(', ')
    return this.#travel(`${request.kind} ${say(request)}`, () => this.#server.handle(request), said)
  }

  /** There, whatever the server does with it, and back; each may be lost, late or doubled. */
  #travel<T>(what: string, act: () => T, said: (reply: T) => string): Promise<T> {
    return new Promise((resolve, reject) => {
      const travel = this.#weather.request(this.#machine)
      const cancel = this.#machine.runtime.after(
        travel.timeoutMs,
        () => reject(new StoreUnreachableError(`sim: ${what} got no answer in ${travel.timeoutMs} ms`)),
        true,
      )
      for (const delayMs of travel.thereMs) {
        this.#world.at(this.#world.now + delayMs, () => {
          if (!this.#weather.isUp) return
          const reply = act()
          this.#world.note(`${this.#machine.name} ${what} -> ${said(reply)}`)
          if (travel.backMs === null) return
          this.#world.at(this.#world.now + travel.backMs, () =>
            this.#machine.act(() => {
              cancel()
              resolve(reply)
            }),
          )
        })
      }
    })
  }

  /** Nothing rests on it but what people see, so it does not travel. */
  async *list(prefix: string): AsyncGenerator<LineView> {
    yield* this.#server.views(prefix)
  }

  #take(key: string, demand: Demand): Promise<Taken> {
    const act = (): Taken => this.#server.take(key, demand)
    return this.#travel(`take ${demand.cost}`, act, ({ taken, left }) => `${taken ? 'taken' : 'refused'}, ${left} left`)
  }

  swap(key: string, change: Change | null): Promise<CellView> {
    const act = (): CellView => this.#server.swap(key, change)
    return this.#travel(`swap ${key}`, act, ({ version }) => String(version))
  }

  async break(line: string): Promise<number> {
    await this.#ask({ kind: 'break', line })
    return 0
  }

  async close(): Promise<void> {}
}

function say(request: Request): string {
  if (request.kind === 'break') return request.line
  if ('entries' in request) return request.entries.map((entry) => entry.id.slice(0, 4)).join(' ')
  return `${request.entry.line} ${request.entry.id.slice(0, 4)}`
}
