/** One run: the seed decides the servers, the programs, the faults, and when they come. */
import type { LockOptions } from '../../../holdfast/src/contract/options.ts'
import { RedlockDriver } from '../../../holdfast/src/stores/redlock/driver.ts'
import { resolveSettings } from '../../../holdfast/src/stores/redlock/options.ts'
import { makeInstance } from '../../../holdfast/src/holdfast.ts'
import { Machine } from '../locks/machine.ts'
import { Rng } from '../locks/rng.ts'
import type { Outcome } from '../locks/scenario.ts'
import { Weather } from '../locks/weather.ts'
import { World } from '../../src/simulated/world.ts'
import { playCalm } from './calm.ts'
import { playChange } from './change.ts'
import { Contender, type Course } from './contender.ts'
import { Judge } from './judge.ts'
import { crowdOf, found, Node } from './node.ts'
import { SimWire } from './sim-wire.ts'
import { brew } from './storm.ts'

/**
 * Of so many seeds, in one nothing goes wrong, and it is judged how long a hand-over takes; in one the servers are
 * changed.
 */
const KINDS = 8
const CALM = 0
const CHANGE = 4

export async function play(seed: number, onNote: World['onNote'] = null): Promise<Outcome> {
  if (seed % KINDS === CALM) return playCalm(seed, onNote)
  if (seed % KINDS === CHANGE) return playChange(seed, onNote)
  const rng = new Rng(seed)
  const world = new World()
  world.onNote = onNote
  const jumps = rng.chance(0.2)
  const judge = new Judge(world)
  judge.hasJumped = jumps
  const ttlMs = rng.pick([300, 600, 1_200, 12_000])
  const longestMs = Math.max(rng.pick([1_200, 2_400]), ttlMs)
  const nodes = Array.from({ length: rng.pick([3, 3, 4, 5]) }, (_, i) => new Node(`n${i}`, world, rng))
  found(nodes, longestMs)
  const timeoutMs = rng.pick([30, 60])
  const weather = new Weather(rng, timeoutMs)
  const courses = makeCourses(rng, ttlMs)
  // How wrong each program's idea of the time is: tokens must rise by what servers remember, not by clocks. With
  // servers that forget, clocks are what is left, and have to be as good as is stated.
  const forgets = rng.chance(0.6)
  // Only clients that were told the longest lease survive that all servers forget it: one of them marks a server anew
  // with it while another, who has just come, guesses. Where they are not told, one server keeps what it has.
  const isTold = rng.chance(0.5)
  const settings = resolveSettings(
    { nodeTimeoutMs: timeoutMs, ...(isTold ? { maxTtlMs: longestMs } : {}) },
    nodes.length,
  )
  const keeper = isTold ? null : (nodes.at(-1) ?? null)
  const skewMs = forgets ? 0 : rng.pick([0, 100, 20_000])
  const actors = Array.from({ length: rng.whole(2, 4) }, (_, i) => {
    const machine = new Machine(`m${i}`, world, rng)
    const offMs = rng.between(-skewMs, skewMs)
    const dice = rng.chance(0.5) ? rng : null
    const wires = nodes.map((node) => new SimWire(world, node, machine, weather, offMs, dice))
    const driver = new RedlockDriver(wires, settings, machine.runtime)
    return new Contender(machine, makeInstance(driver, { runtime: machine.runtime }), rng, judge)
  })

  const stormEndsAt = rng.between(300, 1_200)
  for (const actor of actors) {
    for (let tasks = rng.whole(1, 2); tasks > 0; tasks--) {
      const course = rng.pick(courses)
      const times = rng.whole(2, 8)
      world.at(rng.between(0, 5), () => actor.machine.act(() => actor.begin(course, times)))
    }
  }
  brew(rng, world, {
    nodes,
    keeps: (node) => node === keeper,
    weather,
    actors,
    ttlMs,
    stormEndsAt,
    jumps,
    forgets,
    mostForget: true,
  })
  world.at(stormEndsAt, () => {
    weather.isCalm = true
    for (const { machine } of actors) machine.thaw()
    for (const node of nodes) {
      if (!node.isUp) node.restart(false)
      node.thaw()
    }
  })

  let handovers = 0
  const isOver = (): boolean =>
    judge.violation !== null ||
    (world.now > stormEndsAt && actors.every((actor) => actor.open === 0 || actor.machine.crashed))
  await world.run(stormEndsAt + 20 * ttlMs + 3 * longestMs + 30_000, isOver, () => {
    judge.tick()
    if (world.now <= stormEndsAt) handovers = judge.handovers
  })
  if (judge.violation === null) judgeEnd(actors, nodes, judge, jumps)
  if (judge.violation === null && ttlMs >= 12_000) await judgeRest(world, nodes, actors, judge, weather)
  const { violation } = judge
  return {
    seed,
    // Two at once is what a jumped clock is said to allow; a token that falls never is.
    violation: jumps && violation !== null && /over-admission/.test(violation.message) ? null : violation,
    digest: world.digest,
    faults: weather.faults,
    hits: weather.hits,
    grants: judge.grants,
    handovers,
  }
}

function makeCourses(rng: Rng, ttlMs: number): Course[] {
  return Array.from({ length: rng.whole(1, 2) }, (_, i) => ({
    line: `line${i}`,
    kind: rng.pick(['mutex', 'mutex', 'rw'] as const),
    options: { ttlMs, handovers: rng.pick([0, 0, 2]), renew: rng.chance(0.9) } satisfies LockOptions & {
      ttlMs: number
    },
  }))
}

/** The storm is long over: everybody must have been served, and nobody silenced for the fault of a client's clock. */
function judgeEnd(actors: readonly Contender[], nodes: readonly Node[], judge: Judge, jumps: boolean): void {
  for (const { machine, open } of actors) {
    if (!machine.crashed && open > 0) judge.fail(`lost waiter: ${open} tasks of ${machine.name} never ended`)
  }
  const quarantines = nodes.reduce((sum, node) => sum + node.quarantines, 0)
  if (!jumps && quarantines > 0) judge.fail(`${quarantines} servers were silenced although no clock jumped`)
}

/**
 * What was given up is gone well before its lease would have ended it. Only a crash, or a request that came twice, may
 * leave something.
 */
async function judgeRest(
  world: World,
  nodes: readonly Node[],
  actors: readonly Contender[],
  judge: Judge,
  weather: Weather,
): Promise<void> {
  if (weather.faults.has('request doubled') || actors.some(({ machine }) => machine.crashed)) return
  await world.rest(4_000)
  const left = crowdOf(nodes)
  if (left > 0) judge.fail(`orphan: ${left} places are left on the servers`)
}
