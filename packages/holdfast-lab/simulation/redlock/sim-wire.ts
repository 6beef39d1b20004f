/**
 * A client's connection to a simulated server: requests, answers and pushes travel, and may be late, lost or doubled.
 */
import { StoreUnreachableError } from '../../../holdfast/src/contract/errors.ts'
import type { Step, Wire, WireEvents } from '../../../holdfast/src/stores/redlock/wire.ts'
import type { Machine } from '../locks/machine.ts'
import type { Rng } from '../locks/rng.ts'
import type { Weather } from '../locks/weather.ts'
import type { World } from '../../src/simulated/world.ts'
import type { Node } from './node.ts'

const RECONNECT_MS = 5
const THAW_MS = 40

/** One connection: of the requests sent on it, some arrive. */
interface Link {
  sent: number
  arrived: number
  /** The last that arrives. */
  cut: number
  arrivesAt: number
}

export class SimWire implements Wire {
  readonly where: string
  readonly keyPrefix = ''
  readonly tells = true
  /** Nothing gets through between this client and this server. */
  isCut = false
  readonly #world: World
  readonly #node: Node
  readonly #machine: Machine
  readonly #weather: Weather
  /** By how much this client misreads every server's time. */
  readonly #offMs: number
  /** The run of the server that this connection was made to. */
  #life = -1
  #link: Link = { sent: 0, arrived: 0, cut: Number.POSITIVE_INFINITY, arrivesAt: 0 }
  /** Gives up all requests that are under way on this connection. */
  readonly #open = new Set<(error: Error) => void>()
  #hangUp: (error: Error) => void = () => undefined
  /**
   * An answer that does not come ends the connection, as on our own; null: only the request, as with a user's client.
   */
  readonly #dice: Rng | null

  constructor(world: World, node: Node, machine: Machine, weather: Weather, offMs: number, dice: Rng | null) {
    this.where = node.name
    this.#world = world
    this.#node = node
    this.#machine = machine
    this.#weather = weather
    this.#offMs = offMs
    this.#dice = dice
  }

  open(events: WireEvents): void {
    const connect = (): void => {
      if (!this.#node.isUp) {
        this.#later(20, connect)
        return
      }
      this.#life = this.#node.life
      // What was sent on an earlier connection may arrive after what is sent on this one.
      this.#link = { sent: 0, arrived: 0, cut: Number.POSITIVE_INFINITY, arrivesAt: 0 }
      events.onUp()
      events.onGap()
    }
    this.#hangUp = (error) => {
      this.#life = -1
      // Of what is still on its way some may arrive, late; what comes behind it does not.
      const link = this.#link
      if (this.#dice !== null) link.cut = this.#dice.whole(link.arrived, link.sent)
      for (const giveUp of this.#open) giveUp(error)
      this.#open.clear()
      events.onDown(error)
      this.#later(RECONNECT_MS, connect)
    }
    this.#node.clients.add(() =>
      this.#later(0.5, () => this.#hangUp(new StoreUnreachableError(`${this.where} hung up`))),
    )
    this.#later(0.5, connect)
  }

  run(step: Step, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const travel = this.#weather.request(this.#machine)
      const [life, link] = [this.#life, this.#link]
      const giveUp = (error: Error): void => {
        cancel()
        reject(error)
      }
      const cancel = this.#machine.runtime.after(
        travel.timeoutMs,
        () => {
          this.#open.delete(giveUp)
          const error = new StoreUnreachableError(`${this.where}: ${step} got no answer`)
          reject(error)
          if (this.#dice !== null && life !== -1 && link === this.#link) this.#hangUp(error)
        },
        true,
      )
      this.#open.add(giveUp)
      const nth = ++link.sent
      for (const delayMs of travel.thereMs) {
        // A connection delivers in order: what is late holds up what comes behind.
        link.arrivesAt = Math.max(link.arrivesAt, this.#world.now + delayMs)
        const arrive = (): void => {
          if (nth > link.cut || this.isCut) return
          if (this.#dice !== null && this.#node.isFrozen) {
            // A server that goes on reads its connections in whatever order: also one that was hung up long ago, after
            // one that is new.
            const pauseMs = this.#dice.between(0, THAW_MS)
            this.#node.wait(() => {
              link.arrivesAt = Math.max(link.arrivesAt, this.#world.now + pauseMs)
              this.#world.at(link.arrivesAt, arrive)
            })
            return
          }
          link.arrived = nth
          this.#node.handle(life, step, keys, args, (answer) => {
            this.#world.note(
              `${step} ${this.#machine.name}->${this.where} ${args.slice(2, 5).join(' ').slice(0, 60)} = ` +
                String(answer),
            )
            if (travel.backMs === null || this.isCut) return
            this.#later(travel.backMs, () => {
              if (!this.#open.delete(giveUp)) return
              cancel()
              const [micros, ...rest] = answer as [number]
              resolve([micros + Math.round(this.#offMs * 1_000), ...rest])
            })
          })
        }
        this.#world.at(link.arrivesAt, arrive)
      }
    })
  }

  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    this.#node.subscribers.add({
      channel,
      deliver: (at, message) => {
        if (this.isCut) return
        const text = `${at + Math.round(this.#offMs * 1_000)},${message}`
        for (const delayMs of this.#weather.pushes(this.#machine)) this.#later(delayMs, () => onMessage(text))
      },
    })
    return Promise.resolve()
  }

  unsubscribe(): Promise<void> {
    return Promise.resolve()
  }

  /** Nobody keeps cells here, so there are none to be found. */
  async *scan(): AsyncGenerator<readonly string[]> {}

  close(): Promise<void> {
    return Promise.resolve()
  }

  #later(ms: number, act: () => void): void {
    this.#world.at(this.#world.now + ms, () => this.#machine.act(act))
  }
}
