/**
 * A random walk through one line: after each step the store must agree with the model. Every contender watches its
 * place, as callers do, because a store may answer from what a watch has told it.
 */
import assert from 'node:assert/strict'
import { type Driver, type Entry, isGranted, type Place, type Stop } from '../src/contract/driver.ts'
import type { Draft } from './case.ts'
import { type Asked, Mirror } from './mirror.ts'
import { entry, pause, type Rig } from './rig.ts'

/** One long walk, and short ones, which end in breaks of a line with few places. */
const STEPS = [60, 12, 8, 3, 3, 2, 2, 2]
/** How long a break has to reach those who watch. */
const REACHES_MS = 50

/** A failure shows the seed in its message. With HOLDFAST_WALK_SEED in the environment it is walked again. */
function dice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** One contender of the walk. */
interface Walker {
  readonly driver: Driver
  readonly at: Entry
  turn: number
  /** The store has told it that it holds. */
  isTold: boolean
  unwatch: Stop | null
}

class Walk {
  readonly #drivers: readonly Driver[]
  readonly #line: string
  readonly #capacity: number
  readonly #below: (below: number) => number
  readonly #mirror = new Mirror()
  readonly #said: string[] = []
  readonly #walkers: Walker[] = []

  constructor(drivers: readonly Driver[], line: string, capacity: number, seed: number) {
    this.#drivers = drivers
    this.#line = line
    this.#capacity = capacity
    this.#below = dice(seed)
    this.#said.push(`HOLDFAST_WALK_SEED=${seed}, capacity ${capacity}`)
  }

  async step(): Promise<void> {
    await this.#act()
    this.#agreeWithWatches()
  }

  /** A line that is broken without `now` is its holders' until their leases end: nobody who waits is let in. */
  async end(): Promise<void> {
    for (const walker of [...this.#walkers]) if (walker.at.weight === 2) await this.#reweigh(walker)
    await this.#enter(this.#fresh(), true)
    await this.#break(false)
    await this.#enter(this.#fresh(), true)
    await pause(REACHES_MS)
    const waiting = this.#walkers.filter(({ at }) => this.#mirror.standing(at) === 'waits')
    for (const walker of waiting) await this.#touch(walker)
    this.#agreeWithWatches()
    for (const { unwatch } of this.#walkers) unwatch?.()
  }

  #act(): Promise<unknown> {
    const walker = this.#walkers[this.#below(this.#walkers.length)]
    const choice = this.#below(12)
    if (walker === undefined || choice < 3) return this.#enter(this.#fresh(), true)
    if (choice === 3) return this.#enter(this.#fresh(), false)
    if (choice === 4) return this.#again(walker)
    if (choice === 5) return this.#late()
    if (choice === 6 && this.#below(4) === 0) return this.#break(true)
    if (choice === 7 && walker.at.weight === 2) return this.#reweigh(walker)
    return choice < 10 ? this.#touch(walker) : this.#leave(walker)
  }

  #fresh(): Walker {
    const driver = this.#drivers[this.#below(this.#drivers.length)] as Driver
    // With a capacity of 3: readers, one that may become a writer, and writers.
    const weight = this.#capacity === 1 ? 1 : 1 + this.#below(3)
    const at = entry(this.#line, { weight, capacity: this.#capacity })
    return { driver, at, turn: 0, isTold: false, unwatch: null }
  }

  async #enter(walker: Walker, wait: boolean): Promise<void> {
    walker.unwatch ??= await this.#watch(walker)
    const place = await walker.driver.enter(walker.at, wait)
    if (place === null) walker.unwatch?.()
    else if (!this.#walkers.includes(walker)) this.#walkers.push(walker)
    this.#agree({ kind: 'enter', entry: walker.at, wait }, place)
  }

  /** As a caller does that waits: a push is the grant, and any other word is a reason to look in the same turn. */
  async #watch(walker: Walker): Promise<Stop> {
    const { driver, at } = walker
    return driver.watch(this.#line, at.id, (push) => {
      if (push !== undefined && driver.traits.push === 'answer') walker.isTold ||= push.id === at.id
      else this.#look(walker).catch(() => undefined)
    })
  }

  /** A wake-up may still come when the driver is closed: then nobody is told anything. */
  async #look(walker: Walker): Promise<void> {
    const [place = null] = await walker.driver.touch([walker.at])
    walker.isTold ||= place !== null && isGranted(walker.at, place)
  }

  /** The answer was lost: ask again with the same id. Not for a place that is gone: a store need not remember it. */
  async #again(walker: Walker): Promise<void> {
    if ((await this.#touch(walker)) === null) this.#forget(walker)
    else await this.#enter(walker, true)
  }

  async #touch({ driver, at }: Walker): Promise<Place | null> {
    const [place = null] = await driver.touch([at])
    this.#agree({ kind: 'touch', entry: at }, place)
    return place
  }

  async #leave(walker: Walker): Promise<void> {
    await walker.driver.leave(walker.at)
    this.#forget(walker)
    this.#agree({ kind: 'leave', entry: walker.at }, null)
  }

  #forget(walker: Walker): void {
    walker.unwatch?.()
    this.#walkers.splice(this.#walkers.indexOf(walker), 1)
  }

  /** The leave overtakes its own enter. */
  async #late(): Promise<void> {
    const { driver, at } = this.#fresh()
    await driver.leave(at)
    this.#agree({ kind: 'leave', entry: at }, null)
    this.#agree({ kind: 'enter', entry: at, wait: true }, await driver.enter(at, true))
  }

  async #reweigh(walker: Walker): Promise<void> {
    const { driver, at } = walker
    const place = await this.#touch(walker)
    if (driver.reweigh === undefined || place === null) return
    const isHeavy = walker.turn % 2 === 1
    // Only a holder becomes heavier; a raised place that still waits may become light again.
    if (!isHeavy && !isGranted(at, place)) return
    const asked = isHeavy ? at : { ...at, weight: at.capacity }
    walker.turn += 1
    const answer = await driver.reweigh(asked, walker.turn)
    this.#agree({ kind: 'reweigh', entry: asked, turn: walker.turn }, answer)
  }

  async #break(atOnce: boolean): Promise<void> {
    await (this.#drivers[0] as Driver).break(this.#line, atOnce)
    this.#agree({ kind: 'break', line: this.#line, atOnce }, null)
  }

  /** Whoever has been told that it holds does so in the model, too: a grant once given stays. */
  #agreeWithWatches(): void {
    for (const { at, isTold } of this.#walkers) {
      const isWrong = isTold && this.#mirror.standing(at) === 'waits'
      assert.ok(!isWrong, `${at.id.slice(0, 4)} was told that it holds, and waits; ${this.#said.join('; ')}`)
    }
  }

  #agree(asked: Asked, place: Place | null): void {
    this.#said.push(`${asked.kind} ${asked.kind === 'break' ? '' : asked.entry.id.slice(0, 4)}`)
    const fault = this.#mirror.disagree(asked, place, 0)
    assert.equal(fault, null, this.#said.join('; '))
  }
}

async function walk(rig: Rig, capacity: number): Promise<void> {
  const first = await rig.driver()
  const { fair, counting } = first.traits
  // On Redlock the order of two clients is that of their own estimates of the time, and a busy machine makes these
  // poor. So one client walks alone there.
  const drivers = first.name === 'redlock' ? [first] : [first, await rig.driver(), await rig.driver()]
  if (!fair || (capacity > 1 && !counting)) return
  const given = Number(process.env['HOLDFAST_WALK_SEED'])
  const isGiven = Number.isSafeInteger(given) && given > 0
  const seed = isGiven ? given : 1 + Math.floor(Math.random() * 2 ** 31)
  for (const [round, steps] of STEPS.entries()) {
    const walking = new Walk(drivers, rig.name(), capacity, isGiven ? seed : seed + round)
    for (let i = 0; i < steps; i++) await walking.step()
    await walking.end()
  }
}

export const walks: Draft[] = [1, 3].map((capacity) => ({
  law: 'model',
  name: `a random walk on a line of capacity ${capacity} goes as the model goes`,
  run: (rig) => walk(rig, capacity),
}))
