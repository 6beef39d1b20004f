/** One at a time, by key, in the order in which they asked: callers of one process do not overtake each other. */
import { onAbort } from '../../contract/aborts.ts'

export class Serial {
  /** For each key that somebody has: the callers that wait for it. */
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Runs `act` once all earlier callers have passed the key on; at once, in this very call, if nobody has it now. */
  async run<T>(key: string, act: () => Promise<T>): Promise<T> {
    if (!this.#takeFree(key)) await this.take(key, true)
    try {
      return await act()
    } finally {
      this.pass(key)
    }
  }

  /**
   * Takes the key until `pass`. Without `wait`, false means that somebody has it. `stop` ends the wait, with its
   * reason.
   */
  take(key: string, wait: boolean, stop?: AbortSignal): Promise<boolean> {
    if (this.#takeFree(key)) return Promise.resolve(true)
    if (!wait) return Promise.resolve(false)
    const waiting = this.#waiting.get(key) as (() => void)[]
    return new Promise((resolve, reject) => {
      let forget: (() => void) | null = null
      const mine = (): void => {
        forget?.()
        resolve(true)
      }
      const giveUp = (): void => {
        waiting.splice(waiting.indexOf(mine), 1)
        reject(stop?.reason as Error)
      }
      waiting.push(mine)
      // A signal that was aborted before fires no event any more.
      if (stop?.aborted === true) giveUp()
      else if (stop !== undefined) forget = onAbort(stop, giveUp)
    })
  }

  /** Gives the key to the next waiting caller; if none waits, the key is free. */
  pass(key: string): void {
    const next = this.#waiting.get(key)?.shift()
    if (next !== undefined) next()
    else this.#waiting.delete(key)
  }

  #takeFree(key: string): boolean {
    if (this.#waiting.has(key)) return false
    this.#waiting.set(key, [])
    return true
  }
}
