/**
 * A run without any fault: nothing is lost, messages only take their time, and pushes and answers overtake each other.
 * Whoever waits must then be served by messages alone. A hand-over that takes as long as a timer of the net has lost
 * its way. And whoever only tries, on another line, leaves nothing behind: an answer of a server that the others have
 * outvoted comes after the try has ended.
 */
import { RedlockDriver } from '../../../holdfast/src/stores/redlock/driver.ts'
import { resolveSettings } from '../../../holdfast/src/stores/redlock/options.ts'
import type { Held } from '../../../holdfast/src/hold/held.ts'
import { type Holdfast, makeInstance } from '../../../holdfast/src/holdfast.ts'
import { Machine } from '../locks/machine.ts'
import { Rng } from '../locks/rng.ts'
import type { Outcome } from '../locks/scenario.ts'
import { type Travel, Weather } from '../locks/weather.ts'
import { World } from '../../src/simulated/world.ts'
import { crowdOf, found, Node } from './node.ts'
import { SimWire } from './sim-wire.ts'

const TTL_MS = 30_000
const DELAY_MS_MAX = 3
/** Some twelve messages one after another. A waiter that only its timer wakes comes after 50 ms or more. */
const HANDOVER_MS_MAX = 45
/** All has been given up, and what is under way has arrived: far less than a lease. */
const REST_MS = 200

/**
 * Every message arrives, once, after up to 3 ms; a push sooner, so that it often overtakes the answer given before it.
 */
class Calm extends Weather {
  readonly #dice: Rng

  constructor(rng: Rng) {
    super(rng, 1_000)
    this.#dice = rng
  }

  override request(): Travel {
    return { timeoutMs: 1_000, thereMs: [this.#delayMs()], backMs: this.#delayMs() }
  }

  override pushes(): readonly number[] {
    return [this.#delayMs() / 4]
  }

  #delayMs(): number {
    return this.#dice.between(0.05, DELAY_MS_MAX)
  }
}

/** Who waits since when, who held last, and the first wait that was too long. */
class Turns {
  violation: Error | null = null
  grants = 0
  longestMs = 0
  #freeAt = 0
  readonly #world: World
  readonly #asked = new Map<string, number>()

  constructor(world: World) {
    this.#world = world
  }

  ask(name: string): void {
    this.#asked.set(name, this.#world.now)
  }

  granted(name: string): void {
    this.#world.note(`grant ${name}`)
    this.grants++
    // Somebody could have had it since the line was free and anybody wanted it.
    const sinceMs = Math.max(this.#freeAt, Math.min(...this.#asked.values()))
    this.#asked.delete(name)
    const tookMs = this.#world.now - sinceMs
    this.longestMs = Math.max(this.longestMs, tookMs)
    if (tookMs <= HANDOVER_MS_MAX) return
    this.violation ??= new Error(`stalled hand-over: ${name} got a free line after ${tookMs.toFixed(1)} ms`)
  }

  released(): void {
    this.#freeAt = this.#world.now
  }
}

export async function playCalm(seed: number, onNote: World['onNote'] = null): Promise<Outcome> {
  const rng = new Rng(seed)
  const world = new World()
  world.onNote = onNote
  const nodes = Array.from({ length: rng.pick([3, 3, 4, 5, 5]) }, (_, i) => new Node(`n${i}`, world, rng))
  found(nodes, 60_000)
  const settings = resolveSettings({ nodeTimeoutMs: 1_000 }, nodes.length)
  const weather = new Calm(rng)
  const turns = new Turns(world)
  let open = 0
  const sectionMs = rng.pick([0, 0, 2, 8])
  const pauseMs = rng.pick([0, 0, 5, 20])
  for (let i = rng.whole(2, 10); i > 0; i--) {
    const machine = new Machine(`m${i}`, world, rng)
    const wires = nodes.map((node) => new SimWire(world, node, machine, weather, 0, rng))
    const hf = makeInstance(new RedlockDriver(wires, settings, machine.runtime), { runtime: machine.runtime })
    open++
    const sleep = (ms: number): Promise<void> =>
      new Promise((resolve) => void machine.runtime.after(rng.between(0, ms), resolve, true))
    // After everybody has joined: connecting is no hand-over.
    world.at(200, () =>
      machine.act(() => {
        contend(
          hf,
          machine.name,
          turns,
          () => sleep(sectionMs),
          () => sleep(pauseMs),
        ).then(
          () => open--,
          (error: unknown) => {
            turns.violation ??= new Error(`unexpected error at ${machine.name}: ${String(error)}`)
          },
        )
      }),
    )
    open++
    world.at(0, () => machine.act(() => void tryOften(hf, sleep).then(() => open--)))
  }
  await world.run(
    60_000,
    () => open === 0 || turns.violation !== null,
    () => {},
  )
  if (open > 0) turns.violation ??= new Error(`lost waiter: ${open} programs were never served`)
  await world.rest(REST_MS)
  const left = crowdOf(nodes)
  if (left > 0) turns.violation ??= new Error(`orphan: ${left} places are left on the servers`)
  const { violation, grants } = turns
  return { seed, violation, digest: world.digest, faults: weather.faults, hits: 0, grants, handovers: grants }
}

async function tryOften(hf: Holdfast, sleep: (ms: number) => Promise<void>): Promise<void> {
  const lock = hf.mutex('tried', { ttlMs: TTL_MS })
  for (let times = 0; times < 8; times++) {
    const held = await lock.tryAcquire()
    await sleep(2)
    await held?.release()
    await sleep(20)
  }
}

async function contend(
  hf: Holdfast,
  name: string,
  turns: Turns,
  work: () => Promise<void>,
  pause: () => Promise<void>,
): Promise<void> {
  const lock = hf.mutex('line', { ttlMs: TTL_MS })
  for (let times = 0; times < 8; times++) {
    turns.ask(name)
    const held: Held = await lock.acquire()
    turns.granted(name)
    await work()
    turns.released()
    await held.release()
    await pause()
  }
}
