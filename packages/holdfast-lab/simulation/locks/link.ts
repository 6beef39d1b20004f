/** A client's driver in the simulation: requests and pushes travel, and may be late, lost or doubled. */
import { StoreUnreachableError, UnsupportedError } from '../../src/core/errors.ts'
import { instant } from '../../src/core/validity.ts'
import type { CellView, Driver, Entry, LineView, Place, Push, Stop, Traits, Wake } from '../../src/driver.ts'
import type { Answer } from '../../src/drivers/memory/store.ts'
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

  watch(_line: string, id: string | null, wake: Wake): Stop {
    if (id === null) return () => {}
    this.#wakes.set(id, wake)
    return () => this.#wakes.delete(id)
  }

  /** The store tells this place that it is granted. False: it is not one of ours. */
  push(push: Push): boolean {
    if (!this.#wakes.has(push.id)) return false
    if (this.traits.push === 'none') return true
    for (const delayMs of this.#weather.pushes(this.#machine)) {
      this.#world.at(this.#world.now + delayMs, () =>
        this.#machine.act(() => {
          this.#world.note(`push ${this.#machine.name}`)
          this.#wakes.get(push.id)?.(this.traits.push === 'answer' ? push : undefined)
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
            `${request.kind} ${this.#machine.name} ${say(request)} -> ${reply.map((r) => (r === null ? 'null' : `${r.token} behind ${r.ahead}`)).join(', ')}`,
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

  // oxlint-disable-next-line require-yield -- the contract asks for an iterable, and the simulation has no people in it
  async *list(): AsyncGenerator<LineView> {
    throw new UnsupportedError('not simulated')
  }

  async swap(): Promise<CellView> {
    throw new UnsupportedError('not simulated')
  }

  async break(): Promise<number> {
    throw new UnsupportedError('not simulated')
  }

  async close(): Promise<void> {}
}

function say(request: Request): string {
  if (request.kind === 'touch') return request.entries.map((entry) => entry.id.slice(0, 4)).join(' ')
  return `${request.entry.line} ${request.entry.id.slice(0, 4)}`
}
