/**
 * Handing a hold on to another process: the place gets an id that nobody uses yet, which is written into a text; whoever
 * first asks with the text gives it an id of its own, and holds. The token rises with every hand.
 */
import type { Entry, Place, Stop } from '../driver.ts'
import { checkName, checkText, shown } from './check.ts'
import type { Core } from './core.ts'
import { LockLostError, NotHeldError, StoreUnreachableError, UnsupportedError, UsageError } from './errors.ts'
import type { Handle } from './handle.ts'
import { Lease } from './lease.ts'
import type { LockSettings } from './options.ts'
import { Overture } from './overture.ts'
import { makeEntry, makeSpec, type Mode, type Spec } from './spec.ts'
import { usableMs } from './validity.ts'

const COUNTER_MAX = 1_023
const PAUSE_MS = 50

interface Deed {
  readonly store: string
  readonly line: string
  readonly mode: Mode
  readonly weight: number
  readonly capacity: number
  readonly ttlMs: number
  readonly lockDelayMs: number
  /** How long others must still be kept away, counted from the moment of handing on; the heir counts from its own, which is later. */
  readonly minHoldMs: number
  readonly id: string
  readonly counter: number
}

/** Moves a place to an id of nobody's, and writes down what its heir must know. The caller has ended its own hold of it. */
export async function writeDeed(
  core: Core,
  spec: Spec,
  lease: Lease,
  counter: number,
  minHoldMs: number,
): Promise<string> {
  const id = core.runtime.randomId()
  const place = await insist(core, lease.sinceMonoMs + usableMs(lease.ttlMs), () =>
    rename(core, { ...lease.entry, outlives: true }, id),
  )
  if (place === null) {
    throw new LockLostError(`line ${JSON.stringify(spec.name)} was lost before it could be handed on`, {
      line: spec.name,
    })
  }
  const { name: line, mode, weight, capacity, settings } = spec
  const { ttlMs, lockDelayMs } = settings
  const deed: Deed = {
    store: core.driver.name,
    line,
    mode,
    weight,
    capacity,
    ttlMs,
    lockDelayMs,
    minHoldMs,
    id,
    counter,
  }
  return Buffer.from(JSON.stringify(deed)).toString('base64url')
}

/** Makes a hold of what the text names; works once. */
export async function adopt(core: Core, text: string, base: LockSettings): Promise<Handle> {
  const deed = readDeed(core, text)
  const { line, mode, weight, capacity, ttlMs, lockDelayMs, minHoldMs } = deed
  const settings: LockSettings = Object.freeze({ ...base, ttlMs, lockDelayMs, minHoldMs })
  const spec: Spec = { ...makeSpec(core.runtime, { name: line, mode, weight, capacity }, settings), shareKey: null }
  const { runtime } = core
  const overture = new Overture()
  const lease = new Lease(makeEntry(spec, runtime.randomId()), ttlMs, overture)
  const { entry } = lease
  // Until then the place may stand, if it was handed on just now.
  const until = runtime.now() + usableMs(ttlMs)
  const watch = async (): Promise<Stop> => core.driver.watch(line, entry.id, (push) => lease.listener.woke(push))
  lease.stop = await insist(core, until, watch)
  let place: Place | null
  try {
    place = await insist(core, until, () => rename(core, { ...entry, id: deed.id }, entry.id))
  } catch (error) {
    lease.unwatch()
    core.reaper.drop(entry)
    throw error
  }
  if (core.isClosing) {
    lease.unwatch()
    core.reaper.drop(entry)
    throw core.closedError()
  }
  if (place !== null) lease.take(place)
  if (place === null || core.keeper.leftMs(lease) <= 0 || core.keeper.isDoubtful(lease)) {
    lease.unwatch()
    core.reaper.drop(entry)
    throw new NotHeldError(
      `line ${JSON.stringify(line)}: what was handed on has lapsed, was broken, or was adopted by another`,
      { line },
    )
  }
  const handle = core.admit(lease, spec, deed.counter + 1, null)
  if (overture.woken) core.keeper.look(lease)
  return handle
}

/** Refuses what can't be handed on, before anything is given up. */
export function checkDeed(core: Core, spec: Spec, counter: number): void {
  if (core.driver.rename === undefined) throw unsupported(core, spec.name)
  if (counter >= COUNTER_MAX) {
    throw new UsageError(`line ${JSON.stringify(spec.name)}: this place was handed on ${counter} times; release it`, {
      line: spec.name,
    })
  }
}

function rename(core: Core, entry: Entry, id: string): Promise<Place | null> {
  if (core.driver.rename === undefined) throw unsupported(core, entry.line)
  return core.driver.rename(entry, id)
}

function unsupported({ driver }: Core, line: string): UnsupportedError {
  return new UnsupportedError(`a hold can't be handed on on ${driver.name}: ${driver.traits.safety}`, { line })
}

/** Asks until there is an answer, or until the lease must have lapsed: asked again with the same id it answers the same. */
async function insist<T>(core: Core, until: number, ask: () => Promise<T>): Promise<T> {
  const { runtime } = core
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) || runtime.now() >= until) throw error
    }
    await new Promise<void>((resolve) => {
      runtime.after(PAUSE_MS * (0.5 + runtime.random()), resolve, true)
    })
  }
}

function readDeed(core: Core, text: string): Deed {
  checkText('what adopt is given', text, 4_096)
  let deed: unknown
  try {
    deed = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UsageError(`adopt takes the text that export() gave, given ${shown(text)}`)
  }
  if (!isDeed(deed)) throw new UsageError(`adopt takes the text that export() gave, given ${shown(text)}`)
  checkName('a lock name', deed.line)
  if (deed.store !== core.driver.name) {
    throw new UsageError(`this hold is on ${shown(deed.store)} and can't be adopted on ${core.driver.name}`)
  }
  return deed
}

function isDeed(value: unknown): value is Deed {
  if (typeof value !== 'object' || value === null) return false
  const { store, line, mode, weight, capacity, ttlMs, lockDelayMs, minHoldMs, id, counter } = value as Record<
    string,
    unknown
  >
  const texts = [store, line, mode, id].every((text) => typeof text === 'string')
  const numbers = [weight, capacity, ttlMs, lockDelayMs, minHoldMs, counter].every(
    (n) => Number.isSafeInteger(n) && (n as number) >= 0,
  )
  return texts && numbers && ['exclusive', 'shared', 'permits'].includes(mode as string)
}
