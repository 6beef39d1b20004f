/** A client's connection to a simulated server: requests, answers and pushes travel, and may be late, lost or doubled. */
import { StoreUnreachableError, UnsupportedError } from '../../src/core/errors.ts'
import type { Step, Wire, WireEvents } from '../../src/drivers/redlock/wire.ts'
import type { Machine } from '../sim/machine.ts'
import type { Weather } from '../sim/weather.ts'
import type { World } from '../sim/world.ts'
import type { Node } from './node.ts'

const RECONNECT_MS = 5

export class SimWire implements Wire {
  readonly where: string
  readonly keyPrefix = ''
  readonly tells = true
  readonly #world: World
  readonly #node: Node
  readonly #machine: Machine
  readonly #weather: Weather
  /** By how much this client misreads every server's time. */
  readonly #offMs: number
  /** The run of the server that this connection was made to. */
  #life = -1
  #arrivesAt = 0

  constructor(world: World, node: Node, machine: Machine, weather: Weather, offMs: number) {
    this.where = node.name
    this.#world = world
    this.#node = node
    this.#machine = machine
    this.#weather = weather
    this.#offMs = offMs
  }

  open(events: WireEvents): void {
    const connect = (): void => {
      if (!this.#node.isUp) {
        this.#later(20, connect)
        return
      }
      this.#life = this.#node.life
      events.onUp()
      events.onGap()
    }
    this.#node.clients.add(() =>
      this.#later(0.5, () => {
        this.#life = -1
        events.onDown(new StoreUnreachableError(`${this.where} hung up`))
        this.#later(RECONNECT_MS, connect)
      }),
    )
    this.#later(0.5, connect)
  }

  run(step: Step, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const travel = this.#weather.request(this.#machine)
      const cancel = this.#machine.runtime.after(
        travel.timeoutMs,
        () => reject(new StoreUnreachableError(`${this.where}: ${step} got no answer`)),
        true,
      )
      const life = this.#life
      for (const delayMs of travel.thereMs) {
        // A connection delivers in order: what is late holds up what comes behind.
        this.#arrivesAt = Math.max(this.#arrivesAt, this.#world.now + delayMs)
        this.#world.at(this.#arrivesAt, () =>
          this.#node.handle(life, step, keys, args, (answer) => {
            this.#world.note(
              `${step} ${this.#machine.name}->${this.where} ${args.slice(2, 5).join(' ').slice(0, 60)} = ${String(answer)}`,
            )
            if (travel.backMs === null) return
            this.#later(travel.backMs, () => {
              cancel()
              const [micros, ...rest] = answer as [number]
              resolve([micros + Math.round(this.#offMs * 1_000), ...rest])
            })
          }),
        )
      }
    })
  }

  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    this.#node.subscribers.add({
      channel,
      deliver: (at, message) => {
        const text = `${at + Math.round(this.#offMs * 1_000)},${message}`
        for (const delayMs of this.#weather.pushes(this.#machine)) this.#later(delayMs, () => onMessage(text))
      },
    })
    return Promise.resolve()
  }

  unsubscribe(): Promise<void> {
    return Promise.resolve()
  }

  scan(): AsyncIterable<readonly string[]> {
    throw new UnsupportedError('not simulated')
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #later(ms: number, act: () => void): void {
    this.#world.at(this.#world.now + ms, () => this.#machine.act(act))
  }
}
