/** The time of faults: one after the other. Each is written down before it is made and after it is mended. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deed } from '../backend/backend.ts'
import { micros } from '../history/clock.ts'
import type { Recorder } from '../history/recorder.ts'
import type { Blow } from '../nemesis/blow.ts'
import { forgetsHolders, LINE_AIMS } from '../nemesis/breaks.ts'
import { CLIENT_AIMS, NET_AIMS } from '../nemesis/clients.ts'
import { Deck } from '../nemesis/deck.ts'
import type { Field } from '../nemesis/field.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Random } from '../random.ts'

export interface Arena {
  readonly field: Field
  readonly deeds: Readonly<Partial<Record<NemesisName, Deed>>>
  readonly recorder: Recorder
  readonly random: Random
  /** Called for every fault, when it is made. */
  readonly onFault: (nemesis: NemesisName, target: string) => void
  /** Ends the chaos early. */
  readonly signal: AbortSignal
}

/** The pause between two faults, so that there is a holder to hit again. */
const GAP_MS = 350
/** How much longer a run may take until each requested fault has been made. */
const THOROUGH_MS = 12_000

export class Chaos {
  readonly #arena: Arena
  #count = 0

  constructor(arena: Arena) {
    this.#arena = arena
  }

  /**
   * Goes on for `ms`; if `thorough`, a little longer, until each of them was made. What makes the store forget comes in
   * the second half only: until then nothing excuses two holders.
   */
  async rage(names: readonly NemesisName[], ms: number, thorough: boolean): Promise<void> {
    const { random, signal } = this.#arena
    const start = performance.now()
    const deck = new Deck(names, random)
    const harmless = (name: NemesisName): boolean => !this.#forgets(name)
    const isSplit = names.some(harmless)
    const missing = new Set(names)
    const goesOn = (): boolean => {
      const elapsed = performance.now() - start
      return elapsed < ms || (thorough && missing.size > 0 && elapsed < ms + THOROUGH_MS)
    }
    while (goesOn() && !signal.aborted) {
      const late = performance.now() - start > ms / 2
      const name = deck.next((candidate) => late || !isSplit || harmless(candidate))
      if (name === null) return
      if (await this.strike(name)) missing.delete(name)
      await sleep(GAP_MS * (0.5 + random.next()))
    }
  }

  /** false: there was nobody to hit. */
  async strike(name: NemesisName): Promise<boolean> {
    const { recorder, onFault } = this.#arena
    const blow = await this.#aim(name)
    if (blow === null) return false
    const id = this.#count++
    const { target } = blow
    const only = blow.line === undefined ? {} : { line: blow.line }
    recorder.record({ e: 'fault', t: micros(), id, nemesis: name, target, forgets: this.#forgets(name), ...only })
    onFault(name, target)
    let error: string | undefined
    let from = 0
    let to = 0
    try {
      await blow.strike()
      from = micros()
      await sleep(blow.lastsMs)
      to = micros()
    } catch (caught) {
      error = text(caught)
    }
    // Mend also after a fault that failed half-way: nothing may stay broken.
    try {
      await blow.heal()
    } catch (caught) {
      error ??= text(caught)
    }
    const failed = error === undefined ? {} : { error }
    recorder.record({ e: 'healed', t: micros(), id, from, to, graceMs: blow.graceMs ?? 0, ...failed })
    return true
  }

  #forgets(name: NemesisName): boolean {
    return forgetsHolders(name) || this.#arena.deeds[name]?.forgets === true
  }

  async #aim(name: NemesisName): Promise<Blow | null> {
    const { field, deeds, random } = this.#arena
    const aim = CLIENT_AIMS[name] ?? NET_AIMS[name] ?? LINE_AIMS[name]
    if (aim !== undefined) return aim(field, random)
    const blow = (await deeds[name]?.aim(random, field.ttlMs)) ?? null
    // Hit a server while somebody holds a lock, or else the fault shows nothing. If nobody comes, hit it anyway.
    if (blow !== null) await field.holder()
    return blow
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
