/**
 * Hands a hold on to another process. The place gets an id that no process uses yet, and a ticket (a text) names that
 * id. The first process that adopts the ticket gives the place an id of its own, and holds the lock. The token rises
 * with every hand-over.
 */
import type { Entry, Place } from '../contract/driver.ts'
import { checkName, checkText } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import { LockLostError, NotHeldError, UnsupportedError, UsageError } from '../contract/errors.ts'
import type { Handle } from './handle.ts'
import { ISSUE_MAX } from './token.ts'
import { insist } from './insist.ts'
import { Acquisition, giveBack, type Offer } from '../acquire/acquisition.ts'
import type { Lease } from '../acquire/lease.ts'
import { type LockSettings, TTL_MS_MAX } from '../contract/options.ts'
import { CAPACITY_MAX, isUpgradeable, makeSpec, type Mode, otherwise, type Spec } from '../acquire/spec.ts'
import { usableMs } from '../contract/validity.ts'

/** A name of 512 bytes may be six times as long in JSON, and base64 adds a third. */
const TEXT_BYTES_MAX = 8_192

interface Deed {
  readonly store: string
  readonly line: string
  readonly mode: Mode
  readonly weight: number
  readonly capacity: number
  readonly ttlMs: number
  readonly lockDelayMs: number
  /**
   * How long others must still be kept away, counted from the moment of export. The heir counts from its own adoption,
   * which is later.
   */
  readonly minHoldMs: number
  readonly id: string
  readonly counter: number
}

/**
 * Gives the place a one-time id, and writes down what the heir must know. The caller has already ended its own hold.
 */
export async function writeDeed(
  core: Core,
  spec: Spec,
  lease: Lease,
  counter: number,
  minHoldMs: number,
): Promise<string> {
  const id = core.runtime.randomId()
  const deed = deedOf(core, spec, { id, counter, minHoldMs })
  const place = await insist(core, lease.sinceMonoMs + usableMs(lease.ttlMs), () =>
    rename(core, { ...lease.entry, outlives: true, unclaimed: true }, id),
  )
  if (place === null) {
    throw new LockLostError(`lock ${JSON.stringify(spec.name)} was lost before it could be exported`, {
      line: spec.name,
    })
  }
  return textOf(deed)
}

function deedOf(core: Core, spec: Spec, issue: Pick<Deed, 'id' | 'counter' | 'minHoldMs'>): Deed {
  const { name: line, ask } = spec
  const { mode, weight, capacity, settings } = ask
  const { ttlMs, lockDelayMs } = settings
  return { store: core.driver.name, line, mode, weight, capacity, ttlMs, lockDelayMs, ...issue }
}

function textOf(deed: Deed): string {
  return Buffer.from(JSON.stringify(deed)).toString('base64url')
}

/** Makes a hold from a ticket; works once. */
export async function adopt(core: Core, text: string, base: LockSettings): Promise<Handle> {
  const deed = readDeed(core, text)
  const { line, mode, weight, capacity, ttlMs, lockDelayMs, minHoldMs } = deed
  const settings: LockSettings = Object.freeze({ ...base, ttlMs, lockDelayMs, minHoldMs })
  const spec = otherwise(makeSpec(core, { name: line, mode, weight, capacity }, settings), { shareKey: null })
  const offer: Offer = {
    ask: (entry) => rename(core, { ...entry, id: deed.id }, entry.id),
    // If the place was exported just now, it may stand until then.
    patienceMs: usableMs(ttlMs),
  }
  return new Promise((resolve, reject) => {
    const granted = (lease: Lease): void => {
      if (!core.isClosing) return resolve(core.admit(lease, spec, deed.counter + 1, null))
      void giveBack(core, lease)
      reject(core.closedError())
    }
    const refused = (): void => reject(goneError(line))
    new Acquisition(spec, false, { granted, refused, blocked: () => undefined, failed: reject }, offer).start()
  })
}

function goneError(line: string): NotHeldError {
  const message =
    `lock ${JSON.stringify(line)}: this ticket no longer works: ` +
    'its lease has lapsed, somebody broke the lock, or another process adopted it'
  return new NotHeldError(message, { line })
}

/** Refuses a hold that can't be handed on, before anything is given up. */
export function checkDeed(core: Core, spec: Spec, counter: number): void {
  if (core.driver.rename === undefined) throw unsupported(core, spec.name)
  // Schedule: its upgrade waits; the upgradeable handle is released; another handle of the same hold exports. The place
  // is still raised, and nobody would lower it under its new id.
  if (isUpgradeable(spec)) {
    const line = spec.name
    throw new UnsupportedError(`lock ${JSON.stringify(line)}: an upgradeable hold can't be exported`, { line })
  }
  if (counter >= ISSUE_MAX) {
    throw new UsageError(
      `lock ${JSON.stringify(spec.name)}: it was exported ${counter} times, the most there can be; release it`,
      {
        line: spec.name,
      },
    )
  }
  // Write the ticket down before giving anything up: a ticket that adopt would refuse must not cost the hold.
  readDeed(core, textOf(deedOf(core, spec, { id: core.runtime.randomId(), counter, minHoldMs: 0 })))
}

function rename(core: Core, entry: Entry, id: string): Promise<Place | null> {
  if (core.driver.rename === undefined) throw unsupported(core, entry.line)
  return core.driver.rename(entry, id)
}

function unsupported({ driver }: Core, line: string): UnsupportedError {
  return new UnsupportedError(`${driver.name} can't export a hold: ${driver.traits.safety}`, { line })
}

function readDeed(core: Core, text: string): Deed {
  checkText('what adopt is given', text, TEXT_BYTES_MAX)
  let deed: unknown
  try {
    deed = JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  // Do not show the text: whoever has a ticket can take the lock, and errors end up in logs.
  if (!isDeed(deed)) throw new UsageError('adopt takes the text that export() returned; this is another text')
  checkName('a lock name', deed.line)
  if (deed.store !== core.driver.name) {
    throw new UsageError(`this hold is on another store: ${core.driver.name} can't adopt it`)
  }
  return deed
}

/**
 * A ticket comes from another process, and perhaps a third process has changed it. So its numbers must be within what a
 * caller may ask of a lock. A `counter` of 5 000 would give the heir a token beyond those of the next four holders, and
 * every guard would refuse those holders.
 */
function isDeed(value: unknown): value is Deed {
  if (typeof value !== 'object' || value === null) return false
  const { store, line, mode, weight, capacity, ttlMs, lockDelayMs, minHoldMs, id, counter } = value as Record<
    string,
    unknown
  >
  return (
    [store, line].every((text) => typeof text === 'string') &&
    typeof id === 'string' &&
    /^\w{1,64}$/.test(id) &&
    ['exclusive', 'shared', 'permits'].includes(mode as string) &&
    isWithin(capacity, 1, CAPACITY_MAX) &&
    isWithin(weight, 1, capacity) &&
    isWithin(ttlMs, 1, TTL_MS_MAX) &&
    isWithin(lockDelayMs, 0, TTL_MS_MAX) &&
    isWithin(minHoldMs, 0, TTL_MS_MAX) &&
    isWithin(counter, 0, ISSUE_MAX - 1)
  )
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max
}
