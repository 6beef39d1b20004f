/** One run: the seed decides the servers, the programs, the faults, and when they come. */
import type { LockOptions } from '../../src/core/options.ts'
import { RedlockDriver } from '../../src/drivers/redlock/driver.ts'
import { resolveSettings } from '../../src/drivers/redlock/options.ts'
import { makeInstance } from '../../src/holdfast.ts'
import { Checker, type Record as Hold } from '../sim/checker.ts'
import { Machine } from '../sim/machine.ts'
import { Rng } from '../sim/rng.ts'
import type { Outcome } from '../sim/scenario.ts'
import type { Server } from '../sim/server.ts'
import { Weather } from '../sim/weather.ts'
import { World } from '../sim/world.ts'
import { playCalm } from './calm.ts'
import { Contender, type Course } from './contender.ts'
import { crowdOf, Node } from './node.ts'
import { SimWire } from './sim-wire.ts'

const MARKER = 'holdfast:redlock'

/** Judges exclusion and tokens. Losses are told to holders, and with servers that forget they are not needless. */
class Judge extends Checker {
  /** A clock has jumped: two may hold, as is stated; tokens must still rise. */
  hasJumped = false

  override lost(record: Hold): void {
    if (record.endedAt === null) this.released(record)
  }

  override effect(record: Hold): void {
    if (!this.hasJumped) super.effect(record)
  }

  override fail(what: string): void {
    super.fail(what)
  }
}

/** Every so many seeds nothing goes wrong: then it is judged how long a hand-over takes. */
const CALM_EVERY = 8

export async function play(seed: number, onNote: World['onNote'] = null): Promise<Outcome> {
  if (seed % CALM_EVERY === 0) return playCalm(seed, onNote)
  const rng = new Rng(seed)
  const world = new World()
  world.onNote = onNote
  const jumps = rng.chance(0.2)
  const server = { failedOverAt: -1 }
  const judge = new Judge(world, server as unknown as Server)
  judge.hasJumped = jumps
  const ttlMs = rng.pick([300, 600, 1_200, 12_000])
  const longestMs = Math.max(rng.pick([1_200, 2_400]), ttlMs)
  const nodes = Array.from({ length: rng.pick([3, 3, 4, 5]) }, (_, i) => new Node(`n${i}`, world, rng))
  for (const node of nodes) node.model.step('hello', [MARKER], ['init', longestMs], node.micros)
  const timeoutMs = rng.pick([30, 60])
  const weather = new Weather(rng, timeoutMs)
  const courses = makeCourses(rng, ttlMs)
  // How wrong each program's idea of the time is: tokens must rise by what servers remember, not by clocks. With servers that
  // forget, clocks are what is left, and have to be as good as is stated.
  const forgets = rng.chance(0.6)
  // Only clients that were told the longest lease survive that all servers forget it: one of them marks a server anew with it while another,
  // who has just come, guesses. Where they are not told, one server keeps what it has.
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
  brew(rng, world, { nodes, keeper, weather, actors, ttlMs, stormEndsAt, jumps, forgets })
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

interface Stage {
  readonly nodes: readonly Node[]
  /** Never forgets anything. */
  readonly keeper: Node | null
  readonly weather: Weather
  readonly actors: readonly Contender[]
  readonly ttlMs: number
  readonly stormEndsAt: number
  readonly jumps: boolean
  readonly forgets: boolean
}

type NodeFault = 'empty restart' | 'restart' | 'down' | 'frozen' | 'clock jump' | 'majority forgets'

/** The faults that are not those of a single message. */
function brew(rng: Rng, world: World, stage: Stage): void {
  const { nodes, keeper, weather, actors, ttlMs, stormEndsAt, jumps, forgets } = stage
  const count = (fault: string): void => weather.count(fault as Parameters<Weather['count']>[0])
  for (let n = rng.whole(1, 4); n > 0; n--) {
    const node = rng.pick(nodes)
    const at = rng.between(1, stormEndsAt * 0.9)
    const lastsMs = rng.between(0.1, 1.2) * Math.min(ttlMs, 1_200)
    const kinds: NodeFault[] = forgets
      ? ['empty restart', 'empty restart', 'down', 'frozen', 'majority forgets']
      : ['restart', 'down', 'frozen']
    const fault = jumps && n === 1 ? 'clock jump' : rng.pick(kinds)
    const stepMs = rng.pick([-3_000, -400, 400, 900, 40_000])
    const isEmpty = forgets && rng.chance(0.5)
    world.at(at, () => {
      count(fault)
      world.note(`${fault} ${node.name}`)
      if (fault === 'empty restart' || fault === 'restart') node.restart(fault === 'empty restart' && node !== keeper)
      else if (fault === 'majority forgets') {
        for (const one of nodes.slice(0, Math.floor(nodes.length / 2) + 1)) one.restart(one !== keeper)
      } else if (fault === 'clock jump') node.stepClock(stepMs)
      else if (fault === 'frozen') {
        node.isFrozen = true
        world.at(world.now + lastsMs, () => node.thaw())
      } else {
        node.isUp = false
        world.at(world.now + lastsMs, () => node.restart(isEmpty && node !== keeper))
      }
    })
  }
  for (let n = rng.whole(0, 2); n > 0; n--) {
    const { machine } = rng.pick(actors)
    const fault = rng.pick(['crash', 'pause', 'suspend'] as const)
    const lastsMs = rng.between(0.2, 1.6) * Math.min(ttlMs, 1_200)
    // While it sleeps some servers hang up: their clocks are met anew, and only the others seem to have jumped.
    const strangers = nodes.filter(() => fault === 'suspend' && rng.chance(0.4))
    world.at(rng.between(1, stormEndsAt * 0.9), () => {
      count(fault)
      world.note(`${fault} ${machine.name}`)
      if (fault === 'crash') machine.crashed = true
      else {
        machine.freeze(fault === 'suspend')
        for (const node of strangers) world.at(world.now + lastsMs / 2, () => node.restart(false))
        world.at(world.now + lastsMs, () => machine.thaw())
      }
    })
  }
}

/** The storm is long over: everybody must have been served, and nobody silenced for the fault of a client's clock. */
function judgeEnd(actors: readonly Contender[], nodes: readonly Node[], judge: Judge, jumps: boolean): void {
  for (const { machine, open } of actors) {
    if (!machine.crashed && open > 0) judge.fail(`lost waiter: ${open} tasks of ${machine.name} never ended`)
  }
  const quarantines = nodes.reduce((sum, node) => sum + node.quarantines, 0)
  if (!jumps && quarantines > 0) judge.fail(`${quarantines} servers were silenced although no clock jumped`)
}

/** What was given up is gone well before its lease would have ended it. Only a crash, or a request that came twice, may leave something. */
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
