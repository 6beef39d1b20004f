/** What one lock asks of its line, decided once. */
import { UsageError } from '../contract/errors.ts'
import type { LockSettings } from '../contract/options.ts'
import type { Core } from './core.ts'

/** 'exclusive' excludes all, 'shared' excludes 'exclusive', 'permits' are counted and never re-entered. */
export type Mode = 'exclusive' | 'shared' | 'permits'

/**
 * The largest capacity of a line. Read-write locks have it: a reader weighs 1 and a writer weighs everything, so there
 * are a million readers at once, or one writer.
 */
export const CAPACITY_MAX = 1_000_000

/** What a lock asks, whatever the name of its line. All locks with the same options have the same object. */
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

/** Two words of memory: most programs make a lock for every call, and a hold keeps its spec. */
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
  /** What a candidate says about itself. Candidates never share a place. */
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

// Most locks of an instance have the settings of the instance. To write the JSON anew for each costs as much as the
// rest of an acquisition.
const known = new WeakMap<LockSettings, Ask[]>()
/** How many asks to remember for the same settings, because semaphores may come in any size. */
const ASKS_MAX = 8

function askOf(
  core: Core,
  { mode, weight, capacity }: Pick<Ask, 'mode' | 'weight' | 'capacity'>,
  settings: LockSettings,
  value: string | undefined,
): Ask {
  const { label, ttlMs, renew, maxHoldMs, lockDelayMs, handovers, keepMs } = settings
  const { host, pid } = core.runtime
  // The store keeps this once for each place, so leave out what says nothing.
  const data = JSON.stringify({ label: label === '' ? undefined : label, host, pid, value })
  if (Buffer.byteLength(data) > 1024) {
    throw new UsageError(
      `label, value and host name must fit into 1024 bytes of JSON together; they make ${data.length}`,
    )
  }
  // With aliveIf a lease may stop being renewed, so it must not be handed on to another caller.
  const isAlone = settings.fairness !== 'local' || settings.minHoldMs > 0 || settings.aliveIf !== null
  const shares = !isAlone && value === undefined && sharable({ mode, weight }, settings)
  // What callers must agree on to share a place, besides the name. The sign tells readers from writers.
  const kind = mode === 'shared' ? -capacity : capacity
  const agreed = [kind, ttlMs, renew, maxHoldMs, lockDelayMs, handovers, keepMs, label]
  return { mode, weight, capacity, settings, data, shareKey: shares ? JSON.stringify(agreed) : null, core }
}

/** Whether it reads and may become a writer. */
export function isUpgradeable({ ask: { mode, weight } }: Spec): boolean {
  return mode === 'shared' && weight > 1
}

/**
 * Callers that hold one at a time can share a place. Readers can, too, if all that a reader has begins and ends with
 * its handle.
 */
function sharable({ mode, weight }: Pick<Ask, 'mode' | 'weight'>, { renew, maxHoldMs }: LockSettings): boolean {
  if (mode === 'exclusive') return true
  return mode === 'shared' && weight === 1 && renew && maxHoldMs === Number.POSITIVE_INFINITY
}

/**
 * The same for a caller that holds other lines: its place says so, for the finder of deadlocks, and is shared with
 * nobody.
 */
export function withHolds(spec: Spec, holds: readonly { readonly line: string; readonly token: bigint }[]): Spec {
  const data = JSON.parse(spec.ask.data) as Record<string, unknown>
  // As many holds as fit, the innermost first.
  for (let count = Math.min(holds.length, HOLDS_MAX); count > 0; count--) {
    const named = holds.slice(0, count).map(({ line, token }) => [line, String(token)])
    const text = JSON.stringify({ ...data, holds: named })
    if (Buffer.byteLength(text) <= 1024) return otherwise(spec, { data: text, shareKey: null })
  }
  return otherwise(spec, { shareKey: null })
}

const HOLDS_MAX = 16
