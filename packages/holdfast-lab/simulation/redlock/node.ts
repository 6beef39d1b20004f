/**
 * A simulated server of the deployment: the model of its scripts, a clock of its own, and the ways in which it can
 * fail.
 */
import {
  confirmed,
  type Deployment,
  founded,
  partOf,
  serverIdOf,
  writeDeployment,
} from '../../../holdfast/src/stores/redlock/deployment.ts'
import type { Rng } from '../locks/rng.ts'
import type { World } from '../../src/simulated/world.ts'
import { Model } from './model.ts'

interface Subscriber {
  readonly channel: string
  /** @param at the server's time, µs; it comes first in the message. */
  deliver(at: number, message: string): void
}

export class Node {
  readonly name: string
  readonly model: Model
  isUp = true
  isFrozen = false
  /** Rises with every restart: what was sent to an earlier run is lost with its connection. */
  life = 0
  quarantines = 0
  /** Told of every restart. */
  readonly clients: Set<() => void> = new Set()
  readonly subscribers: Set<Subscriber> = new Set()
  /** Told when it has become one of a deployment, or was told of a change. */
  onAdopted: () => void = () => undefined
  readonly #world: World
  readonly #rng: Rng
  readonly #rate: number
  #shiftMs: number
  #waiting: (() => void)[] = []

  constructor(name: string, world: World, rng: Rng) {
    this.name = name
    this.#world = world
    this.#rng = rng
    this.#rate = rng.between(0.997, 1.003)
    this.#shiftMs = 1_700_000_000_000 + rng.between(-300, 300)
    this.model = new Model(rng.hex(40))
  }

  get micros(): number {
    return Math.floor((this.#world.now * this.#rate + this.#shiftMs) * 1_000)
  }

  stepClock(ms: number): void {
    this.#shiftMs += ms
  }

  /** Answers when it runs; a frozen one answers after it was thawed, unless it was restarted meanwhile. */
  handle(
    life: number,
    step: string,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
    reply: (answer: unknown) => void,
  ): void {
    if (life !== this.life || !this.isUp) return
    if (this.isFrozen) {
      this.wait(() => this.handle(life, step, keys, args, reply))
      return
    }
    if (step === 'quarantine') this.quarantines++
    const { micros } = this
    const answer = this.model.step(step, keys, args, micros)
    if (step === 'adopt') this.onAdopted()
    const pushes = this.model.pushes.splice(0)
    reply(answer)
    for (const { inbox, message } of pushes) {
      for (const subscriber of this.subscribers) {
        if (subscriber.channel.endsWith(`:${inbox}`)) subscriber.deliver(micros, message)
      }
    }
  }

  /** Until it goes on; after a restart, for ever. */
  wait(act: () => void): void {
    this.#waiting.push(act)
  }

  thaw(): void {
    this.isFrozen = false
    for (const act of this.#waiting.splice(0)) act()
  }

  /** It comes back as another run, empty or with its data: it can't know what it has lost. */
  restart(isEmpty: boolean): void {
    this.life++
    this.isFrozen = false
    this.#waiting = []
    this.isUp = true
    this.model.run = this.#rng.hex(40)
    if (isEmpty) this.model.forget()
    for (const tell of this.clients) tell()
  }
}

const MARKER = 'holdfast:redlock'

/** Makes these servers a deployment that votes, as `holdfast redlock init` does, or did so long ago. */
export function found(nodes: readonly Node[], maxTtlMs: number, agoMs = 0): Deployment {
  const servers = nodes.map(({ model, name }) => ({ id: serverIdOf(model.run), where: name }))
  const deployment = confirmed(founded('simulated', maxTtlMs, servers))
  for (const { model, micros } of nodes) {
    const part = partOf(deployment, serverIdOf(model.run))
    model.step('adopt', [MARKER, ''], ['', part, maxTtlMs, 'free', writeDeployment(deployment)], micros - agoMs * 1_000)
  }
  return deployment
}

/** The places that stand on these servers. */
export function crowdOf(nodes: readonly Node[]): number {
  return nodes.reduce((sum, { model, micros }) => sum + model.crowd(micros), 0)
}
