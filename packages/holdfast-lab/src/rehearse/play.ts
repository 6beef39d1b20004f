/** One schedule: the function as the first holder, paused at one point, and the rival while the first stands still. */
import { setImmediate, setTimeout } from 'node:timers'
import { type Holdfast, holdfast } from 'holdfast'
import { memory } from 'holdfast/memory'
import { World } from '../simulated/world.ts'
import { Actor, asNobody } from './actor.ts'
import { type Site, watchAwaits } from './awaits.ts'
import { type Call, Calls, type Remote } from './calls.ts'
import { Link, type WholeDriver } from './link.ts'
import type { RehearseOptions, Scene } from './options.ts'

/** Where the first holder is paused, and until when. */
export interface Stop {
  /**
   * await: just before it continues after an await. call: just after it has called the resource, before the call
   * arrives.
   */
  readonly at: 'await' | 'call'
  /** The index among these, from 0. */
  readonly index: number
  /** When it continues; null: long after the rival has ended. */
  readonly untilMs: number | null
}

/** How a function ended. */
export type End = { readonly error: unknown } | 'ended' | 'unended' | 'not begun'

export interface Played {
  readonly first: Actor
  readonly second: Actor
  readonly calls: Calls
  readonly awaits: number
  readonly ends: { readonly first: End; readonly second: End }
  /** null: it has not ended. */
  readonly endedMs: { readonly first: number | null; readonly second: number | null }
  /** Where it was paused, and in which call. */
  readonly stopped: { readonly site: Site; readonly call: Call | null } | null
  readonly endMs: number
  /** What `check` said; null: nothing. */
  readonly complaint: unknown
}

/** A simulated day: a function that takes longer never ends. */
const DAY_MS = 86_400_000
const EVENTS_MAX = 200_000
/** Real time for what is not simulated. */
const PATIENCE_MS = 2_000
const LOOK_MS = 10
/** After this the lease is over for the store as well. */
const MARGIN_MS = 5

export async function play<T extends object>(
  fn: (scene: Scene<T>) => unknown,
  options: RehearseOptions<T>,
  stop: Stop | null,
  rivalMs: number,
): Promise<Played> {
  const world = new World()
  const [first, second] = [new Actor('first holder', world, 1), new Actor('second holder', world, 2)]
  const clock = { now: () => world.now, wallNow: () => first.wallNow() }
  const store = memory({ runtime: clock }) as WholeDriver
  const calls = new Calls(options)
  const resource = await asNobody(async () => options.resource())
  const open = (actor: Actor): Promise<Holdfast> => holdfast(new Link(store, actor), { runtime: actor.runtime })
  const instances = new Map([
    [first, await open(first)],
    [second, await open(second)],
  ])
  const ends: Record<'first' | 'second', End> = { first: 'unended', second: 'not begun' }
  const endedMs: Record<'first' | 'second', number | null> = { first: null, second: null }
  const begin = (who: 'first' | 'second', act: (scene: Scene<T>) => unknown): void => {
    const actor = who === 'first' ? first : second
    const scene: Scene<T> = {
      hf: instances.get(actor) as Holdfast,
      resource: calls.remote(resource, actor) as Remote<T>,
      who,
    }
    ends[who] = 'unended'
    const end = (how: End): void => {
      ends[who] = how
      endedMs[who] = actor.now()
    }
    actor
      .run(async () => act(scene))
      .then(
        () => end('ended'),
        (error: unknown) => end({ error }),
      )
  }
  let stopped: Played['stopped'] = null
  const counts = { await: 0, call: 0 }
  const mayStop = (at: Stop['at'], actor: Actor, site: Site, call: Call | null): void => {
    if (actor !== first || ends.first !== 'unended') return
    if (counts[at]++ !== stop?.index || at !== stop.at || stopped !== null) return
    stopped = { site, call }
    const lapsedMs = first.now() + first.leaseMs + MARGIN_MS
    first.stop((stop.untilMs ?? lapsedMs + 2 * rivalMs + MARGIN_MS) - first.now())
    world.at(lapsedMs, () => begin('second', options.rival ?? fn))
  }
  calls.onSent = (call) => mayStop('call', call.actor, call.site, call)
  world.settle = () => settled(calls)
  const unwatch = watchAwaits((actor, site) => mayStop('await', actor, site, null))
  try {
    world.at(0, () => begin('first', fn))
    // The first holder may have ended before a planned second holder has begun.
    await runOut(world, () => endedMs.first !== null && (stopped === null || endedMs.second !== null))
  } finally {
    unwatch()
  }
  return {
    first,
    second,
    calls,
    awaits: counts.await,
    ends,
    endedMs,
    stopped,
    endMs: world.now,
    complaint: await complaintOf(options, resource),
  }
}

/** Until both have ended, or nothing more can happen. */
async function runOut(world: World, isOver: () => boolean): Promise<void> {
  const count = { events: 0, idleMs: 0 }
  const isEnough = (): boolean => isOver() || count.events >= EVENTS_MAX || count.idleMs >= PATIENCE_MS
  while (!isEnough() && world.now < DAY_MS) {
    const before = count.events
    await world.run(DAY_MS, isEnough, () => void count.events++)
    count.idleMs = count.events > before ? 0 : count.idleMs + LOOK_MS
    // Nothing is left to happen here: the function waits for something real, or for nothing.
    if (!isEnough()) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

/** Waits for all that an event set in motion, and for what the resource does by the real clock. */
async function settled(calls: Calls): Promise<void> {
  do {
    for (let round = 0; round < 2; round++) await new Promise((resolve) => setImmediate(resolve))
  } while (calls.busy > 0)
}

async function complaintOf<T extends object>({ check }: RehearseOptions<T>, resource: T): Promise<unknown> {
  if (check === undefined) return null
  try {
    await asNobody(async () => check(resource))
    return null
  } catch (error) {
    return error
  }
}
