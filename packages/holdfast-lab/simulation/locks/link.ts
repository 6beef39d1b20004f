/** A client's driver in the simulation: requests and pushes travel, and may be late, lost or doubled. */
import { StoreUnreachableError, UnsupportedError } from '../../../holdfast/src/contract/errors.ts'
import { instant } from '../../../holdfast/src/contract/validity.ts'
import type {
  CellView,
  Driver,
  Entry,
  LineView,
  Place,
  Push,
  Stop,
  Traits,
  Wake,
} from '../../../holdfast/src/contract/driver.ts'
import type { Answer } from '../../../holdfast/src/stores/memory/store.ts'
import type { Machine } from './machine.ts'
import type { Reply, Request, Server } from './server.ts'
import type { Weather } from './weather.ts'
import type { World } from './world.ts'

export class Link implements Driver {
  readonly name = 'sim'
  readonly traits: Traits
  readonly #world: World
  readonly #server: Server
  readonly #machine: Machine
  readonly #weather: Weather
  readonly #wakes = new Map<string, Wake>()

  constructor(world: World, server: Server, machine: Machine, weather: Weather, push: Traits['push']) {
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
  watch(_line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    if (id === null) return () => {}
    const begin = (): Stop => {
      this.#wakes.set(id, wake)
      return () => this.#wakes.delete(id)
    }
    const { watchMs } = this.#weather
    if (watchMs === 0) return begin()
    return new Promise((resolve) => {
      this.#machine.runtime.after(watchMs, () => resolve(begin()), true)
    })
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
    if (this.traits.push === 'none') return true
    for (const delayMs of this.#weather.pushes(this.#machine)) {
      this.#world.at(this.#world.now + delayMs, () =>
        this.#machine.act(() => {
          this.#world.note(`push ${this.#machine.name}`)
          this.#wakes.get(id)?.(push)
        }),
      )
    }
    return true
  }

  #ask(request: Request): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const travel = this.#weather.request(this.#machine)
      const cancel = this.#machine.runtime.after(
        travel.timeoutMs,
        () => reject(new StoreUnreachableError(`sim: ${request.kind} got no answer in ${travel.timeoutMs} ms`)),
        true,
      )
      for (const delayMs of travel.thereMs) {
        this.#world.at(this.#world.now + delayMs, () => {
          if (!this.#weather.isUp) return
          const reply = this.#server.handle(request)
          this.#world.note(
            `${request.kind} ${this.#machine.name} ${say(request)} -> ` +
              reply.map((r) => (r === null ? 'null' : `${r.token} behind ${r.ahead}`)).join(', '),
          )
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

  async swap(): Promise<CellView> {
    throw new UnsupportedError('not simulated')
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
