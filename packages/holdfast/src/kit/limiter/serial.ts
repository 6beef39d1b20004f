/** Callers of one process that wait for the same key, first come, first served: only the first asks the store. */
import type { Runtime } from '../../contract/runtime.ts'
import { pause } from '../pause.ts'

export class SerialTakes {
  readonly #runtime: Runtime
  readonly #tails = new Map<string, Promise<void>>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** Waits its turn. Returns a function that ends the turn, or null if the time ran out before. */
  async take(key: string, waitMs: number, signal: AbortSignal): Promise<(() => void) | null> {
    const before = this.#tails.get(key)
    let leave = (): void => {}
    const mine = new Promise<void>((resolve) => {
      leave = resolve
    })
    this.#follow(key, before, mine)
    if (before === undefined) return leave
    try {
      if (await this.#comes(before, waitMs, signal)) return leave
    } catch (error) {
      leave()
      throw error
    }
    leave()
    return null
  }

  /** A newcomer waits for all that came before, even those that wait in front of a caller who has gone. */
  #follow(key: string, before: Promise<void> | undefined, mine: Promise<void>): void {
    const tail = inTurn(before, mine)
    this.#tails.set(key, tail)
    void this.#forget(key, tail)
  }

  async #forget(key: string, tail: Promise<void>): Promise<void> {
    await tail
    if (this.#tails.get(key) === tail) this.#tails.delete(key)
  }

  async #comes(before: Promise<void>, waitMs: number, signal: AbortSignal): Promise<boolean> {
    let hasCome = false
    const turn = (async () => {
      await before
      hasCome = true
    })()
    await pause(this.#runtime, waitMs, signal, turn)
    return hasCome
  }
}

async function inTurn(before: Promise<void> | undefined, mine: Promise<void>): Promise<void> {
  await before
  await mine
}
