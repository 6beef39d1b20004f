/**
 * Holds that were taken in the name of an owner, so that the same owner can enter again. Only this process knows them.
 */
import type { Hold } from './hold.ts'

export class Owners {
  readonly #holds = new Map<object | symbol, Hold[]>()

  remember(hold: Hold): void {
    const { owner } = hold
    if (owner === null || hold.spec.ask.mode === 'permits') return
    const holds = this.#holds.get(owner)
    if (holds === undefined) this.#holds.set(owner, [hold])
    else holds.push(hold)
  }

  forget(hold: Hold): void {
    const { owner } = hold
    if (owner === null) return
    const rest = this.#holds.get(owner)?.filter((other) => other !== hold) ?? []
    if (rest.length === 0) this.#holds.delete(owner)
    else this.#holds.set(owner, rest)
  }

  holds(owner: object | symbol): Hold[] {
    return this.#holds.get(owner)?.filter((hold) => hold.live) ?? []
  }

  find(owner: object | symbol, line: string): Hold | null {
    return this.#holds.get(owner)?.find((hold) => hold.spec.name === line && hold.live) ?? null
  }
}
