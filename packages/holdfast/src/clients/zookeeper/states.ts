/** Where a client stands, and those who want to know. */

/**
 * `idle`: nothing was asked yet. `connecting`: no session yet. `connected`: a server answers for the session.
 * `disconnected`: the session may live on, nobody answers for it. `expired`: it is over, by the server's word or the
 * own clock. `authFailed`, `closed`: the end.
 */
export type ClientState = 'idle' | 'connecting' | 'connected' | 'disconnected' | 'expired' | 'authFailed' | 'closed'

/** Called on every change, before any request that fails by it rejects. `cause` says why, where there is a reason. */
export type StateListener = (state: ClientState, cause?: Error) => void

/**
 * Calls a caller's function from inside the machine. If it throws, that is its own uncaught exception and not a state
 * machine stopped half-way between two frames.
 */
export function tell<A extends readonly unknown[]>(listener: (...args: A) => void, ...args: A): void {
  try {
    listener(...args)
  } catch (error) {
    process.nextTick(() => {
      throw error
    })
  }
}

export class States {
  #current: ClientState = 'idle'
  readonly #listeners = new Set<StateListener>()
  readonly #untold: [ClientState, Error | undefined][] = []

  get current(): ClientState {
    return this.#current
  }

  /** The state that is left by `close` only. */
  get isFinal(): boolean {
    return this.#current === 'closed' || this.#current === 'authFailed'
  }

  become(state: ClientState, cause?: Error): void {
    if (state === this.#current || this.#current === 'closed') return
    this.#current = state
    this.#untold.push([state, cause])
    // A listener may bring about the next change (renew, close): that one waits until everybody has heard of this one.
    if (this.#untold.length > 1) return
    for (let next = this.#untold[0]; next !== undefined; next = this.#untold[0]) {
      for (const listener of Array.from(this.#listeners)) tell(listener, ...next)
      this.#untold.shift()
    }
  }

  listen(listener: StateListener): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }
}
