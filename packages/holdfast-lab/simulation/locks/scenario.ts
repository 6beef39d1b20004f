/** One run: the seed decides the programs, the lines, the faults, and when they come. */
import type { Traits } from '../../../holdfast/src/contract/driver.ts'
import { makeInstance } from '../../../holdfast/src/holdfast.ts'
import { Actor, type Course } from './actor.ts'
import { Checker } from './checker.ts'
import { Link } from './link.ts'
import { Machine } from './machine.ts'
import { Rng } from './rng.ts'
import { Server } from './server.ts'
import { type Fault, Weather } from './weather.ts'
import { World } from '../../src/simulated/world.ts'

export interface Outcome {
  readonly seed: number
  readonly violation: Error | null
  readonly digest: number
  readonly faults: ReadonlyMap<Fault, number>
  readonly hits: number
  readonly grants: number
  /** Changes of owner between machines while the storm lasted. */
  readonly handovers: number
}

const KEPT = 7_000_000_000

export async function play(seed: number, onNote: World['onNote'] = null): Promise<Outcome> {
  const rng = new Rng(seed)
  const world = new World()
  world.onNote = onNote
  const server = new Server(world)
  const checker = new Checker(world, server)
  const ttlMs = rng.pick([200, 500, 1_000, 12_000])
  const timeoutMs = Math.min(ttlMs / 4, rng.pick([40, 100, 200]))
  const weather = new Weather(rng, timeoutMs)
  const push = rng.pick(['answer', 'answer', 'hint', 'none'] as const)
  // A generator of its own: what was found by a seed before is found by it still.
  const courses = makeCourses(rng, ttlMs).map((course) => kept(course, push, new Rng(seed + KEPT)))
  // Patient programs never give up waiting by themselves: a lost waiter then shows.
  const patient = rng.chance(0.5)
  const links: Link[] = []
  const actors = Array.from({ length: rng.whole(3, 5) }, (_, i) => {
    const machine = new Machine(`m${i}`, world, rng)
    const link = new Link(world, server, machine, weather, push)
    links.push(link)
    const hf = makeInstance(link, { runtime: machine.runtime, connectTimeoutMs: 1_000 })
    return new Actor(machine, hf, rng, checker, patient)
  })
  server.onDisagreement = (what) => checker.fail(`the model disagrees: ${what}`)
  server.onGranted = (id, token) => void links.some((link) => link.push({ id, token }))
  server.onBroken = (id) => void links.some((link) => link.broken(id))
  server.onChanged = (line) => {
    for (const link of links) link.changed(line)
  }

  const stormEndsAt = rng.between(300, 1_500)
  for (const actor of actors) plan(rng, world, actor, courses, stormEndsAt)
  brew(rng, world, server, weather, actors, ttlMs, stormEndsAt)
  world.at(stormEndsAt, () => {
    weather.isCalm = true
    weather.isUp = true
    for (const { machine } of actors) machine.thaw()
  })

  let handovers = 0
  const isOver = (): boolean =>
    checker.violation !== null ||
    (world.now > stormEndsAt && actors.every((actor) => actor.open === 0 || actor.machine.crashed))
  await world.run(stormEndsAt + 20 * ttlMs + 30_000, isOver, () => {
    checker.tick()
    if (world.now <= stormEndsAt) handovers = checker.handovers
  })
  if (checker.violation === null) judgeEnd(world, actors, checker)
  if (checker.violation === null) await judgeRest(world, server, actors, checker, ttlMs)
  return {
    seed,
    violation: checker.violation,
    digest: world.digest,
    faults: weather.faults,
    hits: weather.hits,
    grants: checker.grants,
    handovers,
  }
}

function makeCourses(rng: Rng, ttlMs: number): Course[] {
  return Array.from({ length: rng.whole(1, 2) }, (_, i) => ({
    line: `line${i}`,
    kind: rng.pick(['mutex', 'mutex', 'rw', 'rw', 'semaphore'] as const),
    permits: rng.whole(2, 4),
    options: {
      ttlMs,
      fairness: rng.pick(['local', 'strict'] as const),
      handovers: rng.pick([0, 2, 16]),
      renew: rng.chance(0.9),
    },
  }))
}

/** One in three of the locks that can stay with their process after a release does so, for a while. */
function kept(course: Course, push: Traits['push'], rng: Rng): Course {
  const { fairness, renew } = course.options
  const keep = rng.whole(1, 600)
  const isFit = push !== 'none' && course.kind !== 'semaphore' && fairness === 'local' && renew === true
  return isFit && rng.chance(1 / 3) ? { ...course, options: { ...course.options, keep } } : course
}

function plan(rng: Rng, world: World, actor: Actor, courses: readonly Course[], stormEndsAt: number): void {
  for (let tasks = rng.whole(2, 6); tasks > 0; tasks--) {
    const course = rng.pick(courses)
    // The first tasks of all machines come together: contention from the start.
    const at = tasks === 1 ? rng.between(0, 5) : rng.between(0, stormEndsAt)
    const [first, second] = courses
    const isPair = first?.kind === 'mutex' && second?.kind === 'mutex' && rng.chance(0.4)
    const isCrowd = course.kind === 'rw' && rng.chance(0.1)
    world.at(at, () =>
      actor.machine.act(() => {
        if (isPair) actor.both([first, second])
        else if (isCrowd) actor.crowd(course)
        else actor.begin(course)
      }),
    )
  }
  if (rng.chance(0.1)) {
    const course = rng.pick(courses)
    world.at(rng.between(5, stormEndsAt), () => actor.machine.act(() => actor.break(course)))
  }
}

/** The faults that are not those of a single message. */
function brew(
  rng: Rng,
  world: World,
  server: Server,
  weather: Weather,
  actors: readonly Actor[],
  ttlMs: number,
  stormEndsAt: number,
): void {
  for (let n = rng.whole(0, 3); n > 0; n--) {
    const { machine } = rng.pick(actors)
    const at = rng.between(1, stormEndsAt * 0.9)
    const lastsMs = rng.between(0.2, 1.6) * Math.min(ttlMs, 1_500)
    const fault: Fault = rng.pick(['crash', 'pause', 'pause', 'suspend', 'wall step', 'outage', 'failover'])
    const missed = rng.whole(0, 12)
    const stepMs = rng.pick([-3_600_000, -ttlMs, ttlMs / 2, 3_600_000])
    world.at(at, () => {
      weather.count(fault)
      world.note(fault)
      if (fault === 'crash') machine.crashed = true
      else if (fault === 'pause' || fault === 'suspend') {
        machine.freeze(fault === 'suspend')
        world.at(world.now + lastsMs, () => machine.thaw())
      } else if (fault === 'wall step') machine.stepWall(stepMs)
      else if (fault === 'failover') {
        server.failOver(missed)
        for (const actor of actors) actor.machine.troubled()
      } else {
        weather.isUp = false
        for (const actor of actors) actor.machine.troubled(3)
        world.at(world.now + lastsMs, () => {
          weather.isUp = true
          for (const actor of actors) actor.machine.troubled(3)
        })
      }
    })
  }
}

/** The storm is long over: everybody must have been served. */
function judgeEnd(world: World, actors: readonly Actor[], checker: Checker): void {
  for (const { machine, open } of actors) {
    if (!machine.crashed && open > 0) checker.fail(`lost waiter: ${open} tasks of ${machine.name} never ended`)
  }
  world.note('end')
}

/**
 * What was given up must be gone well before its lease would have ended it; only a crash may leave something behind.
 */
async function judgeRest(
  world: World,
  server: Server,
  actors: readonly Actor[],
  checker: Checker,
  ttlMs: number,
): Promise<void> {
  // A failover can forget a leave that was acknowledged: the place is back, and lapses.
  // A broken place stands until its lease has run out, also when its holder has left it.
  const isBroken = server.brokenAt.size > 0
  const crashed = isBroken || actors.some((actor) => actor.machine.crashed) || server.failedOverAt > 0
  const graceMs = crashed ? 2 * ttlMs + 3_000 : 4_000
  if (!crashed && graceMs > ttlMs / 2) return
  await world.rest(graceMs)
  const left = server.crowd()
  if (left > 0) checker.fail(`orphan: ${left} places are left in the store`)
}
