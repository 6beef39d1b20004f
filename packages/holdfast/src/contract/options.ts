/** What callers may set: defaults and ranges, resolved once and frozen. */
import type { Traits } from './driver.ts'
import { checkBoolean, checkFunction, checkKeys, checkOneOf, checkSpan, checkText, checkWhole, shown } from './check.ts'
import { UnsupportedError, UsageError } from './errors.ts'
import type { Held, HoldState } from '../hold/held.ts'
import type { Runtime } from './runtime.ts'

/** How one lock behaves; every member may also be set for all locks of an instance. */
export interface LockOptions {
  /** The lease: how long a dead holder keeps others waiting. Default 30 000; from `traits.ttlMsMin` to 86 400 000. */
  readonly ttlMs?: number
  /** Renew the lease while held. Default true; false makes it a fixed lease of `ttlMs`. */
  readonly renew?: boolean
  /** Give a hold up after this long. Default Infinity; at least 1. Renewal has no other upper bound. */
  readonly maxHoldMs?: number
  /**
   * Keep others away for this long from the grant on, also when the work ends sooner. Default 0; to 86 400 000.
   * The lease is at least as long. Needs a store whose places can outlast their leave.
   */
  readonly minHoldMs?: number
  /** After a loss that was no release, keep others away for this long. Default 0; to 86 400 000. Needs the same. */
  readonly lockDelayMs?: number
  /**
   * 'local' (default): callers of one process share a place. 'strict': each has its own, first come first served
   * everywhere.
   */
  readonly fairness?: 'local' | 'strict'
  /**
   * How often a shared place is handed on inside the process before it goes to the back of the line. Default 16; 0 to
   * 1023.
   */
  readonly handovers?: number
  /**
   * Keep the lock in this process after a release: the next acquire here asks no store. The lock goes as soon as
   * another process wants it, after so many ms without use, or with the lease. Default false; true sets no time; 1 to
   * 86 400 000. Mutexes and write locks are kept; readers, permits and leaders are not. Needs fairness 'local', and a
   * store that tells (`traits.push`).
   */
  readonly keep?: boolean | number
  /** Whether work inside `using` may take the same lock again. Default true. Semaphores never re-enter. */
  readonly reentrant?: boolean
  /**
   * Refuse, with a DeadlockError, to wait for what a caller of this process holds that waits for the asker. Default
   * false.
   */
  readonly refuseDeadlock?: boolean
  /**
   * Asked six times in a lease while the lock is held. Says no, fails, or gives no answer for a sixth of `ttlMs`: the
   * lease is renewed no more, and the hold is lost when it ends, at the latest after 4/3 of `ttlMs`. Default: not
   * asked.
   */
  readonly aliveIf?: () => boolean | Promise<boolean>
  /** Shown to people beside host and pid. Default ''; at most 200 bytes. */
  readonly label?: string
  /** Told once for each hold, when somebody else waits for the lock. See `held.wanted`. Default none. */
  readonly onWanted?: (held: Held) => void
  /**
   * Told of every state of a hold, the first included: 'held', before `acquire` resolves. What it throws goes to
   * diagnostics. Default none.
   */
  readonly onState?: (state: HoldState, held: Held) => void
}

/** How a Holdfast instance behaves. */
export interface HoldfastOptions extends LockOptions {
  /** Where its keys, tables or nodes live in the store. Default 'holdfast'; 1 to 128 bytes. */
  readonly prefix?: string
  /** How long the first connection, and a single try on a silent store, may take. Default 5 000; 1 to 600 000. */
  readonly connectTimeoutMs?: number
  /** Who renews: this thread, or a worker that a blocked event loop does not stop. Default 'main'. */
  readonly heartbeat?: 'main' | 'worker'
  /** How long a worker goes on for a silent main thread. Default 60 000; 1 000 to 86 400 000. */
  readonly silenceMs?: number
  /**
   * How many events of its locks the instance remembers for `history()`. Default 0; true is 1 000; 1 to 100 000.
   */
  readonly history?: boolean | number
  /**
   * Write a small report into the store, for `holdfast why` and the console. Default false. See
   * docs/reference/events.md.
   */
  readonly report?: boolean
  /** Clocks, timers and randomness, for tests. Default: the real ones. */
  readonly runtime?: Runtime
}

/** How one acquisition behaves. */
export interface AcquireOptions {
  /** How long to wait. Default Infinity; 0 is one try. */
  readonly waitMs?: number
  /** Ends the wait; the promise rejects with the signal's own reason. It does not end a hold. Default none. */
  readonly signal?: AbortSignal
  /**
   * Who asks: the same object or symbol re-enters its own hold. Compared in this process only. Default: the work inside
   * `using`.
   */
  readonly owner?: object | symbol
}

/** LockOptions with every member decided. */
export interface LockSettings {
  readonly ttlMs: number
  readonly renew: boolean
  readonly maxHoldMs: number
  readonly minHoldMs: number
  readonly lockDelayMs: number
  readonly fairness: 'local' | 'strict'
  readonly handovers: number
  /** 0: a release goes to the store. */
  readonly keepMs: number
  readonly reentrant: boolean
  readonly refuseDeadlock: boolean
  readonly label: string
  readonly aliveIf: (() => boolean | Promise<boolean>) | null
  readonly onState: ((state: HoldState, held: Held) => void) | null
  readonly onWanted: ((held: Held) => void) | null
}

/** The longest lease. */
export const TTL_MS_MAX = 86_400_000

const DEFAULTS: LockSettings = Object.freeze({
  ttlMs: 30_000,
  renew: true,
  maxHoldMs: Number.POSITIVE_INFINITY,
  minHoldMs: 0,
  lockDelayMs: 0,
  fairness: 'local',
  handovers: 16,
  keepMs: 0,
  reentrant: true,
  refuseDeadlock: false,
  label: '',
  aliveIf: null,
  onState: null,
  onWanted: null,
})

const LOCK_KEYS = Object.keys(DEFAULTS).map((key) => (key === 'keepMs' ? 'keep' : key))
const INSTANCE_KEYS = [
  ...LOCK_KEYS,
  'prefix',
  'connectTimeoutMs',
  'heartbeat',
  'silenceMs',
  'history',
  'report',
  'runtime',
]
const ACQUIRE_KEYS = ['waitMs', 'signal', 'owner']

export function resolveLock(given: LockOptions | undefined, base: LockSettings, traits: Traits): LockSettings {
  if (given === undefined) return base
  return settle(checkKeys('lock options', given, LOCK_KEYS), base, traits)
}

function settle(given: Record<string, unknown>, base: LockSettings, traits: Traits): LockSettings {
  const pick = <K extends keyof LockSettings>(key: K, check: (value: unknown) => LockSettings[K]): LockSettings[K] =>
    given[key] === undefined ? base[key] : check(given[key])
  const minHoldMs = pick('minHoldMs', (v) => checkWhole('minHoldMs', v, 0, TTL_MS_MAX))
  const lockDelayMs = pick('lockDelayMs', (v) => checkWhole('lockDelayMs', v, 0, TTL_MS_MAX))
  const ttlMs = pick('ttlMs', (v) => checkWhole('ttlMs', v, traits.ttlMsMin, TTL_MS_MAX))
  const settings: LockSettings = {
    // The granted lease counts, not the one asked for: who believed in more would outlive its place.
    // A holder that dies at once must keep others away for minHoldMs as well, and only its lease does that.
    ttlMs: Math.min(Math.max(ttlMs, minHoldMs), traits.ttlMsMax ?? TTL_MS_MAX),
    renew: pick('renew', (v) => checkBoolean('renew', v)),
    maxHoldMs: pick('maxHoldMs', (v) => checkSpan('maxHoldMs', v, 1)),
    minHoldMs,
    lockDelayMs,
    fairness: pick('fairness', (v) => checkOneOf('fairness', v, ['local', 'strict'])),
    handovers: pick('handovers', (v) => checkWhole('handovers', v, 0, 1023)),
    keepMs: given['keep'] === undefined ? base.keepMs : checkKeep(given['keep']),
    reentrant: pick('reentrant', (v) => checkBoolean('reentrant', v)),
    refuseDeadlock: pick('refuseDeadlock', (v) => checkBoolean('refuseDeadlock', v)),
    label: pick('label', (v) => checkText('label', v, 200)),
    aliveIf: pick('aliveIf', (v) => checkFunction('aliveIf', v as NonNullable<LockSettings['aliveIf']>)),
    onState: pick('onState', (v) => checkFunction('onState', v as NonNullable<LockSettings['onState']>)),
    onWanted: pick('onWanted', (v) => checkFunction('onWanted', v as NonNullable<LockSettings['onWanted']>)),
  }
  if (settings.fairness === 'strict' && !traits.fair) {
    throw new UnsupportedError(`fairness 'strict' can't be kept on this store: ${traits.safety}`)
  }
  if ((minHoldMs > 0 || lockDelayMs > 0) && !traits.lingers) {
    const option = minHoldMs > 0 ? 'minHoldMs' : 'lockDelayMs'
    throw new UnsupportedError(
      `${option} can't be kept on this store: a lock is gone there as soon as it is released. ${traits.safety}`,
    )
  }
  if (settings.aliveIf !== null && !settings.renew) {
    throw new UsageError('aliveIf does not go with renew: false: there is no renewal that it could stop')
  }
  if (settings.keepMs > 0) checkKept(settings, traits)
  if (settings.onWanted !== null) checkWanted('onWanted', settings, traits)
  if (settings.ttlMs + lockDelayMs > (traits.ttlMsMax ?? TTL_MS_MAX)) {
    throw new UsageError(`ttlMs and lockDelayMs together must be at most ${traits.ttlMsMax ?? TTL_MS_MAX}`)
  }
  return Object.freeze(settings)
}

function checkKeep(keep: unknown): number {
  if (typeof keep === 'boolean') return keep ? Number.POSITIVE_INFINITY : 0
  return checkWhole('keep', keep, 1, TTL_MS_MAX)
}

/** A kept lock must be renewed, be shared by the callers of the process, and hear of others that want it. */
function checkKept(settings: LockSettings, traits: Traits): void {
  checkWanted('keep', settings, traits)
  const { minHoldMs, fairness, aliveIf } = settings
  const strict = fairness === 'strict' ? "fairness 'strict'" : null
  const against = minHoldMs > 0 ? 'minHoldMs' : aliveIf === null ? strict : 'aliveIf'
  if (against !== null) throw new UsageError(`keep does not go with ${against}: leave one of them out`)
}

/** Refuses what needs to hear of others that want the lock, where nobody can. */
export function checkWanted(what: string, { renew }: LockSettings, { push, safety }: Traits): void {
  if (push === 'none') throw new UnsupportedError(`${what} can't be had on this store: it tells nobody. ${safety}`)
  if (!renew) throw new UsageError(`${what} does not go with renew: false: to ask who waits renews the lease`)
}

export interface InstanceSettings {
  readonly lock: LockSettings
  readonly connectTimeoutMs: number
  /** 0: nothing is remembered. */
  readonly history: number
  readonly report: boolean
}

const CONNECT_TIMEOUT_MS = 5_000
const HISTORY_SIZE = 1_000

/** Checks all that can be checked before a driver exists; a lease is checked against the store's minimum afterwards. */
export function checkInstanceOptions(options: HoldfastOptions): void {
  const given = checkKeys('options', options, INSTANCE_KEYS)
  if (given.prefix !== undefined && checkText('prefix', given.prefix, 128) === '') {
    throw new UsageError('prefix must be 1 to 128 bytes, given ""')
  }
  if (given.connectTimeoutMs !== undefined) checkWhole('connectTimeoutMs', given.connectTimeoutMs, 1, 600_000)
  if (given.silenceMs !== undefined) checkWhole('silenceMs', given.silenceMs, 1_000, TTL_MS_MAX)
  if (given.report !== undefined) checkBoolean('report', given.report)
  if (given.history !== undefined && typeof given.history !== 'boolean') {
    checkWhole('history', given.history, 1, 100_000)
  }
  if (given.heartbeat !== undefined) checkOneOf('heartbeat', given.heartbeat, ['main', 'worker'])
  settle(pickKeys(given, LOCK_KEYS), DEFAULTS, ANY_STORE)
}

export function resolveInstance(options: HoldfastOptions, traits: Traits): InstanceSettings {
  checkInstanceOptions(options)
  return {
    lock: settle(pickKeys(options as Record<string, unknown>, LOCK_KEYS), DEFAULTS, traits),
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    history: options.history === true ? HISTORY_SIZE : options.history === false ? 0 : (options.history ?? 0),
    report: options.report ?? false,
  }
}

// Stands in for the store's traits while there is no store yet: it refuses only what every store would refuse.
const ANY_STORE: Traits = {
  fair: true,
  fenced: true,
  counting: true,
  push: 'answer',
  ttlMsMin: 1,
  lingers: true,
  scope: 'network',
  safety: '',
}

function pickKeys(given: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => given[key] !== undefined).map((key) => [key, given[key]]))
}

/** AcquireOptions with every member decided. */
export interface Wish {
  readonly waitMs: number
  readonly signal: AbortSignal | null
  readonly owner: object | symbol | null
}

/** acquire() without options. */
export const PATIENT: Wish = Object.freeze({ waitMs: Number.POSITIVE_INFINITY, signal: null, owner: null })
/** tryAcquire() without options. */
export const IMPATIENT: Wish = Object.freeze({ waitMs: 0, signal: null, owner: null })

/** `once` is tryAcquire: one try, and `waitMs` is not an option. */
export function resolveAcquire(given: AcquireOptions | undefined, once: boolean, extra: readonly string[] = []): Wish {
  if (given === undefined) return once ? IMPATIENT : PATIENT
  const allowed = once ? ACQUIRE_KEYS.slice(1) : ACQUIRE_KEYS
  const { waitMs, signal, owner } = checkKeys('acquire options', given, [...allowed, ...extra])
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new UsageError(`signal must be an AbortSignal, given ${shown(signal)}`)
  }
  const kind = typeof owner
  if (owner !== undefined && (owner === null || (kind !== 'object' && kind !== 'symbol' && kind !== 'function'))) {
    throw new UsageError(`owner must be an object or a symbol, given ${shown(owner)}`)
  }
  return {
    waitMs: once ? 0 : waitMs === undefined ? Number.POSITIVE_INFINITY : checkSpan('waitMs', waitMs),
    signal: (signal as AbortSignal | undefined) ?? null,
    owner: (owner as object | symbol | undefined) ?? null,
  }
}
