/** The states of a client, and their listeners. */

/**
 * `idle`: nothing was asked yet. `connecting`: no session yet. `connected`: a server answers for the session.
 * `disconnected`: the session may live on, but no server answers for it. `expired`: it is over, by the server's word or
 * by our own clock. `authFailed`, `closed`: the end.
 */
export type ClientState = 'idle' | 'connecting' | 'connected' | 'disconnected' | 'expired' | 'authFailed' | 'closed'

/** Called on every change, before any request rejects because of it. `cause` says why, if there is a reason. */
export type StateListener = (state: ClientState, cause?: Error) => void

/**
 * Calls a caller's function from inside the machine. If the function throws, that is the caller's own uncaught
 * exception, and must not stop the machine half-way between two frames.
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

  /** Only `close` leaves this state. */
  get isFinal(): boolean {
    return this.#current === 'closed' || this.#current === 'authFailed'
  }

  become(state: ClientState, cause?: Error): void {
    if (state === this.#current || this.#current === 'closed') return
    this.#current = state
    this.#untold.push([state, cause])
    // A listener may cause the next change (renew, close): that change waits until all listeners have heard of this
    // one.
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
