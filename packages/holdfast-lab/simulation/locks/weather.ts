/** What happens to messages on their way: chosen by the seed, counted by kind. */
import type { Machine } from './machine.ts'
import type { Rng } from './rng.ts'

export interface Travel {
  readonly timeoutMs: number
  /** When the request arrives: never, once, or twice. */
  readonly thereMs: readonly number[]
  /** How long the reply takes; null: it never comes. */
  readonly backMs: number | null
}

type MessageFault = 'request lost' | 'reply lost' | 'request doubled' | 'request late' | 'reply late'

export type Fault =
  | MessageFault
  | 'push lost'
  | 'push doubled'
  | 'push late'
  | 'outage'
  | 'crash'
  | 'pause'
  | 'suspend'
  | 'wall step'
  | 'failover'

export class Weather {
  isUp: boolean = true
  /** Once the storm is over nothing more happens to messages. */
  isCalm: boolean = false
  readonly faults: Map<Fault, number> = new Map()
  /** Faults that hit a call which was under way. */
  hits: number = 0
  /** How long it takes until a watch is in force. */
  readonly watchMs: number
  readonly #rng: Rng
  readonly #storm: number
  readonly #timeoutMs: number
  /** How much longer every request and every reply is on its way. */
  readonly #slowMs: number
  /** This request of the run is lost whatever the dice say, so that no run is without a fault. */
  #doomed: number

  constructor(rng: Rng, timeoutMs: number, slowMs = 0) {
    this.#rng = rng
    this.#slowMs = slowMs
    this.watchMs = rng.pick([0, 0, 0, 5])
    this.#storm = rng.pick([0, 0.02, 0.05, 0.15])
    this.#timeoutMs = timeoutMs
    this.#doomed = rng.whole(1, 3)
  }

  count(fault: Fault): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
  }

  request(machine: Machine): Travel {
    const rng = this.#rng
    const timeoutMs = this.#timeoutMs
    const [thereMs, backMs] = [this.#slowMs + rng.between(0.1, 3), this.#slowMs + rng.between(0.1, 3)]
    const travel = { timeoutMs, thereMs: [thereMs], backMs: backMs as number | null }
    if (!this.isUp) return { ...travel, thereMs: [] }
    if (--this.#doomed === 0) return this.#spoil(travel, machine, rng.pick(['request lost', 'reply lost']))
    if (this.isCalm || !rng.chance(this.#storm)) return travel
    return this.#spoil(
      travel,
      machine,
      rng.pick(['request lost', 'reply lost', 'request doubled', 'request late', 'reply late']),
    )
  }

  #spoil(travel: Travel, machine: Machine, fault: MessageFault): Travel {
    const rng = this.#rng
    this.count(fault)
    this.hits++
    machine.troubled()
    const longMs = rng.between(0, this.#timeoutMs * 2)
    switch (fault) {
      case 'request lost':
        return { ...travel, thereMs: [] }
      case 'reply lost':
        return { ...travel, backMs: null }
      case 'request doubled':
        // A connection delivers in order: both copies are there before the reply is.
        return {
          ...travel,
          thereMs: [...travel.thereMs, this.#slowMs + rng.between(3, 5)],
          backMs: this.#slowMs + rng.between(5, 9),
        }
      case 'request late':
        return { ...travel, thereMs: [longMs] }
      case 'reply late':
        return { ...travel, backMs: longMs }
      default:
        throw new Error(`no such fault: ${String(fault satisfies never)}`)
    }
  }

  /** When each copy of a push arrives. */
  pushes(machine: Machine): readonly number[] {
    const rng = this.#rng
    const delayMs = rng.between(0.1, 3)
    if (!this.isUp) return []
    if (this.isCalm || !rng.chance(this.#storm)) return [delayMs]
    const fault: Fault = rng.pick(['push lost', 'push doubled', 'push late'])
    this.count(fault)
    machine.troubled()
    if (fault === 'push lost') return []
    const lateMs = rng.between(0, this.#timeoutMs * 2)
    return fault === 'push late' ? [lateMs] : [delayMs, lateMs]
  }
}
