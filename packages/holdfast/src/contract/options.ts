/** What callers may set. Defaults and ranges are applied once here, and the result is frozen. */
import type { Traits } from './driver.ts'
import { checkBoolean, checkFunction, checkKeys, checkOneOf, checkSpan, checkText, checkWhole, shown } from './check.ts'
import { UnsupportedError, UsageError } from './errors.ts'
import type { Held, HoldState } from '../hold/held.ts'
import type { Runtime } from './runtime.ts'

/** How one lock behaves. An instance may set each member for all its locks. */
export interface LockOptions {
  /**
   * The length of the lease: how long a dead holder keeps others waiting. Default 30 000; from `traits.ttlMsMin` to 86
   * 400 000.
   */
  readonly ttlMs?: number
  /** Renew the lease while the lock is held. Default true; false makes a fixed lease of `ttlMs`. */
  readonly renew?: boolean
  /** Give a hold up after this long. Default Infinity; at least 1. Renewal has no other upper bound. */
  readonly maxHoldMs?: number
  /**
   * Keep others away for at least this long from the grant on, even if the work ends sooner. Default 0; to 86 400 000.
   * The lease is at least as long. Needs a store whose places can outlast their release (`traits.lingers`).
   */
  readonly minHoldMs?: number
  /** After a loss, keep others away for this long. Default 0; to 86 400 000. Needs `traits.lingers`, too. */
  readonly lockDelayMs?: number
  /**
   * 'local' (default): callers of one process share one place in the queue. 'strict': each has its own, so the queue is
   * first come, first served across all processes.
   */
  readonly fairness?: 'local' | 'strict'
  /**
   * How often this process may hand a shared place to its next caller before that place goes to the back of the queue.
   * Default 16; 0 to 1023.
   */
  readonly handovers?: number
  /**
   * Keep the lock in this process after a release: the next acquire here asks no store. The lock goes as soon as
   * another process wants it, after so many ms without use, or with the lease. Default false; true sets no time; 1 to
   * 86 400 000. Works for mutexes and write locks, not for readers, permits and leaders. Needs fairness 'local', and a
   * store that sends wake-ups (`traits.push`). Only who waits is heard: `tryAcquire` of another process may find a
   * kept lock taken, however often it asks. Wait there for a moment instead, by `waitMs`.
   */
  readonly keep?: boolean | number
  /** Whether work inside `using` may take the same lock again. Default true. Semaphores never re-enter. */
  readonly reentrant?: boolean
  /**
   * Refuse, with a DeadlockError, to wait for a lock whose holder in this process waits for what the caller holds.
   * Default false.
   */
  readonly refuseDeadlock?: boolean
  /**
   * Holdfast calls this six times in a lease while the lock is held. If it returns false, throws, or gives no answer
   * for a sixth of `ttlMs`, the lease is not renewed any more. The hold is lost when the lease ends, at the latest
   * after 4/3 of `ttlMs`. Default: not called.
   */
  readonly aliveIf?: () => boolean | Promise<boolean>
  /** A text for people, shown beside host and pid. Default ''; at most 200 bytes. */
  readonly label?: string
  /** Called once for each hold, when somebody else waits for the lock. See `held.wanted`. Default none. */
  readonly onWanted?: (held: Held) => void
  /**
   * Called for every state of a hold. The first is 'held', before `acquire` resolves. What it throws goes to
   * diagnostics. Default none.
   */
  readonly onState?: (state: HoldState, held: Held) => void
}

/** How a Holdfast instance behaves. */
export interface HoldfastOptions extends LockOptions {
  /** Under what name the store has its keys, tables or nodes. Default 'holdfast'; 1 to 128 bytes. */
  readonly prefix?: string
  /**
   * How long the first connection may take, and how long a single try on a silent store may take. Default 5 000; 1 to
   * 600 000.
   */
  readonly connectTimeoutMs?: number
  /**
   * Which thread renews: 'main' is this thread, 'worker' a thread that a blocked event loop does not stop. Default
   * 'main'.
   */
  readonly heartbeat?: 'main' | 'worker'
  /** How long the worker goes on renewing for a blocked main thread. Default 60 000; 1 000 to 86 400 000. */
  readonly silenceMs?: number
  /** How many events of its locks the instance remembers for `history()`. Default 0; true is 1 000; 1 to 100 000. */
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
  /** Ends the wait: the promise rejects with the reason of the signal. The signal does not end a hold. Default none. */
  readonly signal?: AbortSignal
  /**
   * Who asks. A request with the same object or symbol re-enters its own hold. Compared in this process only. Default:
   * the work inside `using`.
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
    // The lease that the store grants counts, not the one that was asked for: a holder that trusted a longer one would
    // outlive its place. A holder that dies at once must keep others away for minHoldMs as well, and only its lease can
    // do that.
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
    throw new UnsupportedError(`this store can't do fairness 'strict': ${traits.safety}`)
  }
  if ((minHoldMs > 0 || lockDelayMs > 0) && !traits.lingers) {
    const option = minHoldMs > 0 ? 'minHoldMs' : 'lockDelayMs'
    throw new UnsupportedError(
      `this store can't do ${option}: a lock is gone there as soon as it is released. ${traits.safety}`,
    )
  }
  if (settings.aliveIf !== null && !settings.renew) {
    throw new UsageError(
      'aliveIf does not go with renew: false, because aliveIf works by stopping renewal: leave one out',
    )
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

/**
 * A kept lock must be renewed, callers of the process must share its place, and its process must hear when others want
 * it.
 */
function checkKept(settings: LockSettings, traits: Traits): void {
  checkWanted('keep', settings, traits)
  const { minHoldMs, fairness, aliveIf } = settings
  const strict = fairness === 'strict' ? "fairness 'strict'" : null
  const against = minHoldMs > 0 ? 'minHoldMs' : aliveIf === null ? strict : 'aliveIf'
  if (against !== null) throw new UsageError(`keep does not go with ${against}: leave one of them out`)
}

/** Refuses an option that needs to know whether others want the lock, where the store or the lease can't tell. */
export function checkWanted(what: string, { renew }: LockSettings, { push, safety }: Traits): void {
  if (push === 'none') throw new UnsupportedError(`this store can't do ${what}: it sends no wake-ups. ${safety}`)
  if (!renew)
    throw new UsageError(
      `${what} does not go with renew: false, because asking who waits renews the lease: leave one out`,
    )
}

export interface InstanceSettings {
  readonly lock: LockSettings
  readonly connectTimeoutMs: number
  /** 0: remember nothing. */
  readonly history: number
  readonly report: boolean
}

const CONNECT_TIMEOUT_MS = 5_000
const HISTORY_SIZE = 1_000

/** Checks all that can be checked before a driver exists. The lease is compared with the store's minimum later. */
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

// Stands in for the traits while there is no store yet. It refuses only what every store would refuse.
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

/** Checks the options of acquire. With `once` they are those of tryAcquire: one try, so there is no `waitMs`. */
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
