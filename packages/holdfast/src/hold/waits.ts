/** Who in this process waits while holding something: enough to see, before a wait begins, that it would never end. */
import { DeadlockError } from '../contract/errors.ts'
import type { Hold } from './hold.ts'
import type { Spec } from '../acquire/spec.ts'

export interface Wait {
  readonly spec: Spec
  readonly holds: readonly Hold[]
}

export class Waits {
  readonly #waits = new Set<Wait>()

  add(wait: Wait): void {
    this.#waits.add(wait)
  }

  delete(wait: Wait): void {
    this.#waits.delete(wait)
  }

  /**
   * Throws if the caller holds what it asks for, or if the holder waits for what the caller holds, perhaps through
   * others.
   */
  check({ spec, holds }: Wait): void {
    const path = holds.some((hold) => hold.live && leavesNoRoom(hold.spec, spec))
      ? [spec.name]
      : this.#path(spec, holds, new Set())
    if (path === null) return
    const circle = [...path, spec.name].map((line) => JSON.stringify(line)).join(' → ')
    throw new DeadlockError(
      `waiting for lock ${JSON.stringify(spec.name)} would never end in this process: ${circle}`,
      {
        line: spec.name,
      },
    )
  }

  #path(wanted: Spec, mine: readonly Hold[], seen: Set<Wait>): string[] | null {
    for (const wait of this.#waits) {
      if (seen.has(wait) || !wait.holds.some((hold) => hold.live && collide(hold.spec, wanted))) continue
      seen.add(wait)
      if (mine.some((hold) => hold.live && collide(hold.spec, wait.spec))) return [wanted.name, wait.spec.name]
      const path = this.#path(wait.spec, mine, seen)
      if (path !== null) return [wanted.name, ...path]
    }
    return null
  }
}

/** Whether the caller's own hold alone keeps it waiting. */
function leavesNoRoom(held: Spec, wanted: Spec): boolean {
  return held.name === wanted.name && held.ask.weight + wanted.ask.weight > wanted.ask.capacity
}

/** Whether one of two must wait for the other. Permits are never refused: there may be enough for both. */
function collide(a: Spec, b: Spec): boolean {
  if (a.name !== b.name || a.ask.mode === 'permits' || b.ask.mode === 'permits') return false
  return a.ask.mode === 'exclusive' || b.ask.mode === 'exclusive'
}
