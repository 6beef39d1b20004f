/**
 * The servers change while programs hold and wait: one is replaced by an empty one, three become five, five become
 * three. Operators are cut off and begin again, two of them at once want different servers, and some programs have the
 * old list, some the new one, until the end.
 */
import { HoldfastError } from '../../../holdfast/src/contract/errors.ts'
import { type Deployment, listed, readDeployment } from '../../../holdfast/src/stores/redlock/deployment.ts'
import { RedlockDriver } from '../../../holdfast/src/stores/redlock/driver.ts'
import { resolveSettings, type Settings } from '../../../holdfast/src/stores/redlock/options.ts'
import { Resize } from '../../../holdfast/src/stores/redlock/resize.ts'
import { makeInstance } from '../../../holdfast/src/holdfast.ts'
import { Machine } from '../locks/machine.ts'
import { Rng } from '../locks/rng.ts'
import type { Outcome } from '../locks/scenario.ts'
import { Weather } from '../locks/weather.ts'
import { World } from '../../src/simulated/world.ts'
import { Contender, type Course } from './contender.ts'
import { Judge } from './judge.ts'
import { found, Node } from './node.ts'
import { SimWire } from './sim-wire.ts'
import { brew } from './storm.ts'

/** Which servers there are, and which there are to be, by their numbers. */
interface Plan {
  readonly before: readonly number[]
  readonly after: readonly number[]
}

const PLANS: readonly Plan[] = [
  { before: [0, 1, 2], after: [0, 1, 3] },
  { before: [0, 1, 2], after: [0, 1, 2, 3, 4] },
  { before: [0, 1, 2, 3, 4], after: [2, 3, 4] },
]
const AGAIN_MS = 40

export async function playChange(seed: number, onNote: World['onNote'] = null): Promise<Outcome> {
  const rng = new Rng(seed)
  const world = new World()
  world.onNote = onNote
  const judge = new Judge(world)
  const plan = rng.pick(PLANS)
  const nodes = Array.from({ length: 5 }, (_, i) => new Node(`n${i}`, world, rng))
  const some = (numbers: readonly number[]): Node[] => numbers.map((n) => nodes[n] as Node)
  const [before, after] = [some(plan.before), some(plan.after)]
  for (const node of nodes) node.onAdopted = () => judge.adopted(node.model.servers.text)
  const ttlMs = rng.pick([150, 300, 700])
  // Clocks of servers are up to 0.6 s apart. Tokens of before the last change but one rise by clocks that are right to
  // within a longest lease.
  const longestMs = rng.pick([700, 1_000])
  // Long ago, so that the first change need not wait.
  found(before, longestMs, 2 * longestMs)
  const timeoutMs = rng.pick([30, 60])
  const weather = new Weather(rng, timeoutMs)
  const settings = resolveSettings({ nodeTimeoutMs: timeoutMs }, nodes.length)
  const wiresOf = (machine: Machine, to: readonly Node[]): SimWire[] =>
    to.map((node) => new SimWire(world, node, machine, weather, 0, rng.chance(0.5) ? rng : null))

  const actors = Array.from({ length: rng.whole(2, 4) }, (_, i) => {
    const machine = new Machine(`m${i}`, world, rng)
    const list = rng.pick([before, after, [...new Set([...before, ...after])]])
    const wires = wiresOf(machine, list)
    cutOff(rng, world, wires, longestMs)
    const driver = new RedlockDriver(wires, settings, machine.runtime)
    const hf = makeInstance(driver, { runtime: machine.runtime })
    return new Contender(machine, hf, rng, judge, list.length < nodes.length)
  })
  const stormEndsAt = rng.between(0.8, 3) * longestMs + 300
  const options = { ttlMs, handovers: rng.pick([0, 0, 2]), renew: rng.chance(0.6) }
  const course: Course = { line: 'line', kind: 'mutex', options }
  for (const actor of actors) {
    const times = rng.whole(10, 40)
    world.at(rng.between(0, 5), () => actor.machine.act(() => actor.begin(course, times)))
  }

  const beginsAt = rng.between(1, stormEndsAt * 0.6)
  const operators = Array.from({ length: rng.pick([1, 2]) }, (_, i) => {
    const machine = new Machine(`op${i}`, world, rng)
    const to = i === 0 ? after : rng.pick([before, after, nodes.slice(0, 4)])
    const targets = [...to, ...nodes.filter((node) => !to.includes(node))]
    world.at(beginsAt + rng.pick([0, 3, 200]) * i, () =>
      machine.act(() => void changeOnce(machine, wiresOf(machine, targets), to.length, settings, judge, weather)),
    )
    return { machine }
  })
  // Only one server forgets, so that most never do: what is founded anew is another story, and told in scenario.ts.
  const victim = rng.pick(before)
  brew(rng, world, {
    nodes,
    keeps: (node) => node !== victim,
    weather,
    actors: [...actors, ...operators],
    ttlMs,
    stormEndsAt,
    jumps: false,
    forgets: rng.chance(0.3),
    mostForget: false,
  })

  let isChanged = false
  const last = new Machine('last', world, rng)
  world.at(stormEndsAt, () => {
    weather.isCalm = true
    for (const { machine } of [...actors, ...operators]) machine.thaw()
    for (const { machine } of operators) machine.crashed = true
    for (const node of nodes) {
      if (!node.isUp) node.restart(false)
      node.thaw()
    }
    const change = async (): Promise<void> => {
      const targets = [...after, ...nodes.filter((node) => !after.includes(node))]
      while (!(await changeOnce(last, wiresOf(last, targets), after.length, settings, judge, weather))) {
        await new Promise<void>((resolve) => void last.runtime.after(AGAIN_MS, resolve, true))
      }
      isChanged = true
    }
    last.act(() => void change())
  })

  let handovers = 0
  const isOver = (): boolean =>
    judge.violation !== null ||
    (world.now > stormEndsAt && isChanged && actors.every((actor) => actor.open === 0 || actor.machine.crashed))
  await world.run(stormEndsAt + 20 * ttlMs + 10 * longestMs + 60_000, isOver, () => {
    judge.tick()
    if (world.now <= stormEndsAt) handovers = judge.handovers
  })
  if (judge.violation === null) judgeEnd(actors, isChanged, latestOf(nodes), after, judge)
  const { violation, grants } = judge
  return { seed, violation, digest: world.digest, faults: weather.faults, hits: weather.hits, grants, handovers }
}

/** For a while one server, or another, is out of this client's reach: its majorities are then as small as can be. */
function cutOff(rng: Rng, world: World, wires: readonly SimWire[], longestMs: number): void {
  for (let times = rng.whole(0, 3); times > 0; times--) {
    const wire = rng.pick(wires)
    const at = rng.between(0, 2.5) * longestMs
    world.at(at, () => {
      wire.isCut = true
      world.at(at + rng.between(0.1, 1.2) * longestMs, () => {
        wire.isCut = false
      })
    })
  }
}

/**
 * Whether it came to its end. What an operator is told, that servers are away or others change them, too, it may see:
 * it begins again.
 */
async function changeOnce(
  machine: Machine,
  wires: readonly SimWire[],
  count: number,
  settings: Settings,
  judge: Judge,
  weather: Weather,
): Promise<boolean> {
  weather.count('resize' as Parameters<Weather['count']>[0])
  try {
    await new Resize(wires, count, settings, machine.runtime, (what) => judge.note(`${machine.name}: ${what}`)).run()
    return true
  } catch (error) {
    if (!(error instanceof HoldfastError)) judge.fail(`unexpected error at ${machine.name}: ${String(error)}`)
    judge.note(`${machine.name}: ${String(error)}`)
    return false
  }
}

/** What most of its servers take for the deployment: the latest that any server knows of. */
function latestOf(nodes: readonly Node[]): Deployment | null {
  const known = nodes.flatMap(({ model }) => (model.marker === null ? [] : (readDeployment(model.servers.text) ?? [])))
  return known.toSorted((a, b) => b.epoch - a.epoch)[0] ?? null
}

/** The storm is long over: everybody must have been served, and the servers are those that were asked for. */
function judgeEnd(
  actors: readonly Contender[],
  isChanged: boolean,
  latest: Deployment | null,
  wanted: readonly Node[],
  judge: Judge,
): void {
  if (!isChanged) judge.fail(`the change never ended`)
  const are = latest === null ? '' : listed(latest).split(',').toSorted().join(',')
  const want = wanted.map(({ name }) => name).join(',')
  if (are !== want) judge.fail(`the servers are ${are}, and ${want} were asked for`)
  for (const { machine, open } of actors) {
    if (!machine.crashed && open > 0) judge.fail(`lost waiter: ${open} tasks of ${machine.name} never ended`)
  }
}
