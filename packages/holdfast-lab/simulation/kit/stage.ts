/** What the runs of the kit have in common: machines on one store, a judge, and time that passes. */
import { makeInstance, type Holdfast } from '../../../holdfast/src/holdfast.ts'
import { Violation } from '../locks/checker.ts'
import { Link } from '../locks/link.ts'
import { Machine } from '../locks/machine.ts'
import type { Rng } from '../locks/rng.ts'
import type { Outcome } from '../locks/scenario.ts'
import { Server } from '../locks/server.ts'
import type { Fault, Weather } from '../locks/weather.ts'
import { World } from '../../src/simulated/world.ts'

export interface Client {
  readonly machine: Machine
  readonly weather: Weather
  readonly hf: Holdfast
}

export class Stage {
  readonly world: World = new World()
  readonly clients: Client[] = []
  /** How often something was let through, or run. */
  grants = 0
  readonly #rng: Rng
  readonly #server: Server
  #violation: Violation | null = null

  constructor(rng: Rng, onNote: World['onNote']) {
    this.#rng = rng
    this.world.onNote = onNote
    this.#server = new Server(this.world)
    this.#server.onGranted = (id, token) => void this.#links.some((link) => link.push({ id, token }))
    this.#server.onChanged = (line) => {
      for (const link of this.#links) link.changed(line)
    }
  }

  readonly #links: Link[] = []

  /** A machine on a way of its own; `isCounter`: the store counts rate limits by itself. */
  add(weather: Weather, isCounter: boolean): Client {
    const machine = new Machine(`m${this.clients.length}`, this.world, this.#rng)
    const link = new Link(this.world, this.#server, machine, weather, 'answer', isCounter)
    const hf = makeInstance(link, { runtime: machine.runtime })
    const client = { machine, weather, hf }
    this.#links.push(link)
    this.clients.push(client)
    return client
  }

  fail(what: string): void {
    this.#violation ??= new Violation(`${what} (at ${this.world.now.toFixed(1)} ms)`)
  }

  /** Lets time pass until then, or until something is wrong. */
  async until(ms: number): Promise<void> {
    this.world.at(ms, () => {})
    await this.world.run(
      ms,
      () => this.#violation !== null || this.world.now >= ms,
      () => {},
    )
  }

  /** Everybody lets go; what does not come to an end is wrong. */
  async close(patienceMs: number): Promise<void> {
    let open = 0
    for (const { machine, hf } of this.clients) {
      if (machine.crashed) continue
      machine.thaw()
      open++
      void hf.close().then(() => open--)
    }
    const end = this.world.now + patienceMs
    this.world.at(end, () => {})
    await this.world.run(
      end,
      () => open === 0 || this.world.now >= end,
      () => {},
    )
    if (open > 0) this.fail(`${open} instances were not closed within ${patienceMs} ms`)
  }

  sleep(machine: Machine, ms: number): Promise<void> {
    return new Promise((resolve) => {
      machine.runtime.after(ms, resolve, true)
    })
  }

  outcome(seed: number): Outcome {
    const faults = new Map<Fault, number>()
    for (const weather of new Set(this.clients.map((client) => client.weather))) {
      for (const [fault, count] of weather.faults) faults.set(fault, (faults.get(fault) ?? 0) + count)
    }
    const hits = this.clients.reduce((sum, { weather }) => sum + weather.hits, 0)
    const { digest } = this.world
    return { seed, violation: this.#violation, digest, faults, hits, grants: this.grants, handovers: 0 }
  }
}
