/**
 * Jobs on a schedule, with outages at the tick and wrong clocks: each period runs once, and who is held up is told why.
 */
import { ClockError } from '../../../holdfast/src/contract/errors.ts'
import type { JobWork } from '../../../holdfast/src/kit/once/job.ts'
import type { Machine } from '../locks/machine.ts'
import type { Rng } from '../locks/rng.ts'
import type { Outcome } from '../locks/scenario.ts'
import { Weather } from '../locks/weather.ts'
import type { World } from '../../src/simulated/world.ts'
import { type Client, Stage } from './stage.ts'

/** The true time at which a run begins; whole periods begin at whole multiples. */
const BASE_MS = 1_700_000_000_000
const PERIODS = 6

interface Span {
  readonly from: number
  readonly to: number
}

interface Plan {
  readonly everyMs: number
  readonly ttlMs: number
  readonly workMs: number
  readonly rerun: boolean
  /** By how much each clock is wrong. */
  readonly aheadMs: readonly number[]
  readonly areClocksNear: boolean
  /** When the store was away. */
  readonly outages: readonly Span[]
  /** When a machine was stopped, or died: what it had begun may be missing. */
  readonly troubles: Span[]
}

export async function playJobs(seed: number, rng: Rng, onNote: World['onNote']): Promise<Outcome> {
  const stage = new Stage(rng, onNote)
  const plan = makePlan(rng)
  const weather = new Weather(rng, Math.min(plan.ttlMs / 4, plan.everyMs / rng.pick([40, 100])))
  const clients = plan.aheadMs.map((aheadMs) => {
    const client = stage.add(weather, true)
    client.machine.stepWall(BASE_MS + aheadMs - client.machine.wall())
    return client
  })
  const judge = new Judge(stage, plan, weather)
  for (const client of clients) judge.schedule(client)
  brew(stage, rng, plan, weather, clients)
  await stage.until((PERIODS + 1) * plan.everyMs)
  judge.checkPeriods()
  judge.checkTold(clients)
  weather.isCalm = true
  weather.isUp = true
  await stage.close(60_000)
  return stage.outcome(seed)
}

function makePlan(rng: Rng): Plan {
  const everyMs = rng.pick([2_000, 5_000, 10_000])
  const areClocksNear = rng.chance(0.75)
  const aheadMs = Array.from({ length: rng.whole(1, 4) }, () => rng.between(-0.05, 0.05) * everyMs)
  if (!areClocksNear) aheadMs[0] = rng.pick([-1, 1]) * rng.whole(3, 40) * everyMs
  return {
    everyMs,
    ttlMs: rng.pick([500, 1_500, everyMs, 30_000]),
    workMs: rng.pick([0, 50, 0.3 * everyMs]),
    rerun: rng.chance(0.3),
    aheadMs,
    areClocksNear,
    // Who is to be told of a clock must have asked the store while it was there.
    outages: makeOutages(rng, everyMs).filter(({ from, to }) => areClocksNear || to - from < everyMs / 2),
    troubles: [],
  }
}

/** At many a tick the store is away, for less than half of the period; now and then past the next tick. */
function makeOutages(rng: Rng, everyMs: number): readonly Span[] {
  const outages: Span[] = []
  for (let n = 1; n <= PERIODS; n++) {
    const from = n * everyMs + rng.between(-0.1, 0.1) * everyMs
    const lastsMs = (rng.chance(0.2) ? rng.between(1, 1.4) : rng.between(0.05, 0.45)) * everyMs
    if (rng.chance(0.5)) outages.push({ from, to: from + lastsMs })
  }
  return outages
}

function brew(stage: Stage, rng: Rng, plan: Plan, weather: Weather, clients: readonly Client[]): void {
  const { world } = stage
  let away = 0
  for (const { from, to } of plan.outages) {
    world.at(from, () => {
      away++
      weather.count('outage')
      weather.isUp = false
    })
    world.at(to, () => {
      if (--away === 0) weather.isUp = true
    })
  }
  if (rng.chance(0.6)) return
  const { machine } = rng.pick(clients)
  const from = rng.between(0.5, PERIODS) * plan.everyMs
  const lastsMs = rng.between(0.2, 2) * Math.min(plan.ttlMs, plan.everyMs)
  const isCrash = rng.chance(0.5) && clients.length > 1
  // The lease of a dead one keeps the others waiting.
  plan.troubles.push({ from: from - plan.ttlMs, to: from + plan.ttlMs + lastsMs + plan.everyMs })
  world.at(from, () => {
    weather.count(isCrash ? 'crash' : 'pause')
    if (isCrash) machine.crashed = true
    else machine.freeze(false)
    world.at(world.now + lastsMs, () => machine.thaw())
  })
}

class Judge {
  readonly #stage: Stage
  readonly #plan: Plan
  /** How often each period was begun. */
  readonly #runs = new Map<number, number>()
  /** How many messages were spoilt until shortly before the next period. */
  readonly #hits: number[] = []
  /** When work was done. */
  readonly #works: Span[] = []
  readonly #told = new Map<Machine, number>()

  constructor(stage: Stage, plan: Plan, weather: Weather) {
    this.#stage = stage
    this.#plan = plan
    for (let n = 0; n <= PERIODS; n++) {
      stage.world.at((n + 0.9) * plan.everyMs, () => this.#hits.push(weather.hits))
    }
  }

  schedule({ machine, hf }: Client): void {
    const { everyMs, ttlMs, rerun, workMs } = this.#plan
    hf.once('report', {
      everyMs,
      ttlMs,
      rerun,
      run: async (work) => {
        this.#begun(machine, work)
        this.#works.push({ from: this.#stage.world.now, to: this.#stage.world.now + workMs })
        await this.#stage.sleep(machine, workMs)
      },
      onError: (error) => {
        if (error instanceof ClockError) this.#told.set(machine, (this.#told.get(machine) ?? 0) + 1)
      },
    })
  }

  #begun(machine: Machine, { dueMs, held }: JobWork): void {
    const { world } = this.#stage
    const runs = (this.#runs.get(dueMs) ?? 0) + 1
    this.#runs.set(dueMs, runs)
    this.#stage.grants++
    world.note(`run ${machine.name} ${dueMs - BASE_MS} by ${held.token}`)
    // Where a period is run again by choice, one that ended in an outage looks like one whose process died.
    if (runs > 1 && !this.#plan.rerun) this.#stage.fail(`the period ${dueMs - BASE_MS} was run ${runs} times`)
  }

  /** Whoever had the time and the store to run a period has done so. */
  checkPeriods(): void {
    const { everyMs, areClocksNear } = this.#plan
    if (!areClocksNear) return
    for (let n = 1; n < PERIODS; n++) {
      const period = { from: n * everyMs, to: (n + 1) * everyMs }
      if (!this.#couldRun(period) || this.#runs.has(BASE_MS + period.from)) continue
      // One that is alone can lose its lock, and its time, by three lost messages.
      if ((this.#hits[n] as number) - (this.#hits[n - 1] as number) > 2) continue
      this.#stage.fail(`the period ${period.from} was run by nobody`)
    }
  }

  #couldRun(period: Span): boolean {
    const { everyMs, outages, troubles } = this.#plan
    if (troubles.some((trouble) => overlap(trouble, period) > 0)) return false
    // A period that begins while the work of another goes on is passed over; clocks do not agree on when it begins.
    const tick = { from: period.from - 0.1 * everyMs, to: period.from + 0.1 * everyMs }
    if (this.#works.some((work) => overlap(work, tick) > 0)) return false
    // Up for half of the period without a break, and not only at its very end, which clocks do not agree on.
    const from = Math.max(period.from, ...outages.filter((one) => overlap(one, period) > 0).map(({ to }) => to))
    return period.to - from >= 0.5 * everyMs
  }

  /** A clock that is far from those that run the job is told aloud. */
  checkTold(clients: readonly Client[]): void {
    const { aheadMs, areClocksNear, troubles } = this.#plan
    if (areClocksNear || troubles.length > 0 || clients.length < 2 || this.#runs.size === 0) return
    const furthest = Math.max(...aheadMs)
    for (const [i, { machine }] of clients.entries()) {
      const isBehind = furthest - (aheadMs[i] as number) > 2 * this.#plan.everyMs
      if (isBehind && !this.#told.has(machine)) this.#stage.fail(`${machine.name} was not told that clocks differ`)
    }
  }
}

function overlap(a: Span, b: Span): number {
  return Math.min(a.to, b.to) - Math.max(a.from, b.from)
}
