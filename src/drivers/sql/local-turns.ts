/** Who of this process may ask the server for a name: one at a time, in the order in which they came. */
export class LocalTurns {
  readonly #queues = new Map<string, (() => void)[]>()

  /** Without `wait`, false means that somebody of this process has it. `stop` ends the wait, with its reason. */
  take(name: string, wait: boolean, stop?: AbortSignal): Promise<boolean> {
    const queue = this.#queues.get(name)
    if (queue === undefined) {
      this.#queues.set(name, [])
      return Promise.resolve(true)
    }
    if (!wait) return Promise.resolve(false)
    return new Promise((resolve, reject) => {
      const mine = (): void => {
        stop?.removeEventListener('abort', giveUp)
        resolve(true)
      }
      const giveUp = (): void => {
        queue.splice(queue.indexOf(mine), 1)
        reject(stop?.reason as Error)
      }
      stop?.addEventListener('abort', giveUp, { once: true })
      queue.push(mine)
    })
  }

  pass(name: string): void {
    const queue = this.#queues.get(name)
    const next = queue?.shift()
    if (next !== undefined) next()
    else this.#queues.delete(name)
  }
}
