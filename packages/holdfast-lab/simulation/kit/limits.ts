/** Rate limits in batches, on a store that answers late: the limit holds, every take ends, and the quota is used. */
import type { Limiter } from '../../../holdfast/src/kit/limiter/limiter.ts'
import { AcquireTimeoutError, StoreUnreachableError } from '../../../holdfast/src/contract/errors.ts'
import type { Machine } from '../locks/machine.ts'
import type { Rng } from '../locks/rng.ts'
import type { Outcome } from '../locks/scenario.ts'
import { Weather } from '../locks/weather.ts'
import type { World } from '../../src/simulated/world.ts'
import { type Client, Stage } from './stage.ts'

const PER_MS = 1_000
const CROWD_MS = 3_000
const ALONE_MS = 6_000
const WORKERS = 3
/** A pause of a worker whose wish was refused. */
const PAUSE_MS = 100

export async function playLimits(seed: number, rng: Rng, onNote: World['onNote']): Promise<Outcome> {
  const stage = new Stage(rng, onNote)
  const [limit, holdMs] = [rng.whole(4, 40), rng.pick([100, 200, 500])]
  const isCounter = rng.chance(0.6)
  const batch = rng.chance(0.85) ? { batch: { size: rng.whole(2, limit), holdMs } } : {}
  const slowest = rng.pick([0, 0.3, 0.8, 1.5]) * holdMs
  const clients = Array.from({ length: rng.whole(1, 4) }, (_, i) => {
    const slowMs = i === 0 ? slowest : rng.between(0, slowest)
    return stage.add(new Weather(rng, 2 * slowest + 200, slowMs), isCounter)
  })
  const judge = new Judge(stage, limit, clients.length, isCounter)
  // What was taken may be used so much later: it lies in a process, and was on its way before.
  judge.slackMs = holdMs + 2 * slowest + 400
  const work = (client: Client, untilMs: number): void => {
    const limiter = client.hf.limiter('hot', { limit, perMs: PER_MS, ...batch })
    for (let n = WORKERS; n > 0; n--) judge.follow(client.machine, limiter, untilMs)
  }

  for (const client of clients.slice(1)) work(client, CROWD_MS)
  const [alone] = clients as [Client, ...Client[]]
  // What the others asked for last may be on its way for long.
  const aloneAt = CROWD_MS + 8 * slowest + 500
  work(alone, aloneAt + ALONE_MS)
  if (rng.chance(0.3)) brew(stage, rng, alone.machine, judge)
  // The slowest goes on alone, in calm weather: the quota is there for it.
  await stage.until(CROWD_MS)
  for (const { weather } of clients) weather.isCalm = true
  await stage.until(aloneAt)
  const before = judge.allowedOf(alone.machine)
  await stage.until(aloneAt + ALONE_MS)
  // On cells a take is to read and to write, and the cell that was read may have lapsed meanwhile.
  judge.checkShare(judge.allowedOf(alone.machine) - before, (2 * slowest + 12) * (isCounter ? 1 : 4))
  await stage.until(stage.world.now + 4 * slowest + 5_000)
  judge.checkOpen()
  await stage.close(20_000)
  return stage.outcome(seed)
}

function brew(stage: Stage, rng: Rng, machine: Machine, judge: Judge): void {
  const lastsMs = rng.between(20, 800)
  // A process that stood still uses what it has, and reads what has come, when it goes on.
  judge.slackMs += lastsMs
  stage.world.at(rng.between(100, CROWD_MS - 900), () => {
    machine.freeze(false)
    stage.world.at(stage.world.now + lastsMs, () => machine.thaw())
  })
}

class Judge {
  slackMs = 0
  readonly #stage: Stage
  readonly #limit: number
  /** What may be let through at once. */
  readonly #burst: number
  readonly #allowed = new Map<Machine, number>()
  #open = 0
  #level = 0
  #at = 0

  constructor(stage: Stage, limit: number, machines: number, isCounter: boolean) {
    this.#stage = stage
    this.#limit = limit
    // A store that does not count has no clock either: each client's clock that is ahead lets one burst more through.
    this.#burst = limit * (isCounter ? 1 : 1 + machines)
  }

  allowedOf(machine: Machine): number {
    return this.#allowed.get(machine) ?? 0
  }

  /** A worker: takes whenever it may. */
  follow(machine: Machine, limiter: Limiter, untilMs: number): void {
    this.#open++
    this.#work(machine, limiter, untilMs).then(
      () => this.#open--,
      (error: unknown) => this.#stage.fail(`unexpected error at ${machine.name}: ${String(error)}`),
    )
  }

  async #work(machine: Machine, limiter: Limiter, untilMs: number): Promise<void> {
    const { world } = this.#stage
    while (world.now < untilMs) {
      const waitMs = await this.#take(machine, limiter)
      await this.#stage.sleep(machine, waitMs)
    }
  }

  async #take(machine: Machine, limiter: Limiter): Promise<number> {
    try {
      const { allowed, retryAfterMs } = await limiter.take('key')
      if (allowed) this.#letThrough(machine)
      return allowed ? 2 : Math.min(PAUSE_MS, retryAfterMs + 1)
    } catch (error) {
      // On cells others may have been faster for as long as the store is waited for.
      if (error instanceof StoreUnreachableError || error instanceof AcquireTimeoutError) return PAUSE_MS
      throw error
    }
  }

  /**
   * In any span of time s at most `burst + limit * (s + slack)` are let through: a bucket of that size never runs over.
   */
  #letThrough(machine: Machine): void {
    const { world } = this.#stage
    this.#stage.grants++
    this.#allowed.set(machine, this.allowedOf(machine) + 1)
    const rate = (this.#limit / PER_MS) * 1.005
    this.#level = Math.max(0, this.#level - (world.now - this.#at) * rate) + 1
    this.#at = world.now
    world.note(`let through ${machine.name}`)
    const most = this.#burst + rate * this.slackMs + 1
    if (this.#level > most) this.#stage.fail(`limit exceeded: ${this.#level.toFixed(1)} at once, at most ${most}`)
  }

  /** Alone on the store, it gets what the limit allows, or what its workers can ask for on a way that is so long. */
  checkShare(count: number, answerMs: number): void {
    const byLimit = (this.#limit * ALONE_MS) / PER_MS
    const byWay = (WORKERS * ALONE_MS) / (answerMs + PAUSE_MS)
    const least = Math.floor(0.4 * Math.min(byLimit, byWay))
    if (count < least) this.#stage.fail(`quota burnt: alone, ${count} were let through in ${ALONE_MS} ms, not ${least}`)
  }

  checkOpen(): void {
    if (this.#open > 0) this.#stage.fail(`${this.#open} takes never ended`)
  }
}
