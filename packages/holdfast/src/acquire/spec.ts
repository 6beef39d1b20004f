/** What one lock asks of its line, decided once. */
import { UsageError } from '../contract/errors.ts'
import type { LockSettings } from '../contract/options.ts'
import type { Core } from './core.ts'

/** 'exclusive' excludes all, 'shared' excludes the exclusive, 'permits' are counted and never re-entered. */
export type Mode = 'exclusive' | 'shared' | 'permits'

/** What a lock asks, whatever its line is called: the same object for all locks with the same options. */
export interface Ask {
  readonly mode: Mode
  readonly weight: number
  readonly capacity: number
  readonly settings: LockSettings
  readonly data: string
  /** Callers of one line with equal keys may share a place; null: each takes its own. */
  readonly shareKey: string | null
  readonly core: Core
}

/** Two words for each lock: most programs make one for every call, and a hold keeps it. */
export interface Spec {
  readonly name: string
  readonly ask: Ask
}

/** The same lock, asking for something else. */
export function otherwise({ name, ask }: Spec, other: Partial<Ask>): Spec {
  return { name, ask: { ...ask, ...other } }
}

export function makeSpec(
  core: Core,
  line: { readonly name: string; readonly mode: Mode; readonly weight: number; readonly capacity: number },
  settings: LockSettings,
  /** What a candidate says of itself. Candidates never share a place. */
  value?: string,
): Spec {
  const { name, mode, weight, capacity } = line
  if (value !== undefined) return { name, ask: askOf(core, line, settings, value) }
  let asks = known.get(settings)
  if (asks === undefined) known.set(settings, (asks = []))
  for (const ask of asks) {
    if (ask.capacity === capacity && ask.mode === mode && ask.weight === weight && ask.core === core) {
      return { name, ask }
    }
  }
  const ask = askOf(core, line, settings, value)
  if (asks.length < ASKS_MAX) asks.push(ask)
  return { name, ask }
}

// Most locks of an instance have its own settings: writing the JSON anew for each cost as much as the rest of an
// acquisition.
const known = new WeakMap<LockSettings, Ask[]>()
/** How many are remembered for the same settings: semaphores may come in any size. */
const ASKS_MAX = 8

function askOf(
  core: Core,
  { mode, weight, capacity }: Pick<Ask, 'mode' | 'weight' | 'capacity'>,
  settings: LockSettings,
  value: string | undefined,
): Ask {
  const { label, ttlMs, renew, maxHoldMs, lockDelayMs, handovers, keepMs } = settings
  const { host, pid } = core.runtime
  // It stands in the store once for each place: what is not said takes no room there.
  const data = JSON.stringify({ label: label === '' ? undefined : label, host, pid, value })
  if (Buffer.byteLength(data) > 1024) {
    throw new UsageError(
      `label, value and host name must fit into 1024 bytes of JSON together; they make ${data.length}`,
    )
  }
  // With aliveIf a lease may be renewed no more: it is nobody's to hand on.
  const isAlone = settings.fairness !== 'local' || settings.minHoldMs > 0 || settings.aliveIf !== null
  const shares = !isAlone && value === undefined && sharable({ mode, weight }, settings)
  // What callers must agree on to share a place, besides the name; readers are told from writers by the sign.
  const kind = mode === 'shared' ? -capacity : capacity
  const agreed = [kind, ttlMs, renew, maxHoldMs, lockDelayMs, handovers, keepMs, label]
  return { mode, weight, capacity, settings, data, shareKey: shares ? JSON.stringify(agreed) : null, core }
}

/** One at a time can share a place, and so can readers, if all that a reader has begins and ends with its handle. */
function sharable({ mode, weight }: Pick<Ask, 'mode' | 'weight'>, { renew, maxHoldMs }: LockSettings): boolean {
  if (mode === 'exclusive') return true
  return mode === 'shared' && weight === 1 && renew && maxHoldMs === Number.POSITIVE_INFINITY
}

/**
 * The same, by a caller that holds other lines: it says so, for the finder of deadlocks, and shares its place with
 * nobody.
 */
export function withHolds(spec: Spec, holds: readonly { readonly line: string; readonly token: bigint }[]): Spec {
  const data = JSON.parse(spec.ask.data) as Record<string, unknown>
  // As many as fit, the innermost first.
  for (let count = Math.min(holds.length, HOLDS_MAX); count > 0; count--) {
    const named = holds.slice(0, count).map(({ line, token }) => [line, String(token)])
    const text = JSON.stringify({ ...data, holds: named })
    if (Buffer.byteLength(text) <= 1024) return otherwise(spec, { data: text, shareKey: null })
  }
  return otherwise(spec, { shareKey: null })
}

const HOLDS_MAX = 16
