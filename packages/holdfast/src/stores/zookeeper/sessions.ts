/** The sessions of one driver, one for each length in use: opened when needed, ended when idle for a while. */

import { ClosedError } from '../../contract/errors.ts'

/** The part of a session that this file uses. */
export interface Endable {
  /** True: no place lives by this session, and none is about to. */
  readonly isIdle: boolean
  close(): Promise<void>
}

interface Kept<S> {
  readonly session: S
  usedAt: number
}

interface SessionsOptions<S> {
  readonly make: (sessionMs: number) => S
  readonly now: () => number
  /** A session ends after at least this long without use, and at most twice that. */
  readonly idleMs: number
  /** The length of the session that never counts as idle, because more than places live by it. */
  readonly lastingMs: number
}

export class Sessions<S extends Endable> {
  readonly #options: SessionsOptions<S>
  readonly #byMs = new Map<number, Kept<S>>()
  readonly #ending = new Set<Promise<void>>()
  #round: NodeJS.Timeout | null = null
  #closed = false

  constructor(options: SessionsOptions<S>) {
    this.#options = options
  }

  of(sessionMs: number): S {
    if (this.#closed) throw new ClosedError('this ZooKeeper driver is closed: make a new one')
    const { make, now, lastingMs } = this.#options
    let kept = this.#byMs.get(sessionMs)
    if (kept === undefined) {
      kept = { session: make(sessionMs), usedAt: 0 }
      this.#byMs.set(sessionMs, kept)
      if (sessionMs !== lastingMs) this.#watch()
    }
    kept.usedAt = now()
    return kept.session
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#round !== null) clearInterval(this.#round)
    this.#round = null
    const open = [...this.#byMs.values()].map(({ session }) => session.close())
    await Promise.all([...open, ...this.#ending])
  }

  #watch(): void {
    if (this.#round !== null) return
    this.#round = setInterval(() => this.#endIdle(), this.#options.idleMs)
    this.#round.unref()
  }

  #endIdle(): void {
    const { now, idleMs, lastingMs } = this.#options
    for (const [sessionMs, { session, usedAt }] of this.#byMs) {
      if (sessionMs === lastingMs || !session.isIdle || now() - usedAt < idleMs) continue
      // Take it out of the map in the same step in which it was found idle: later callers then get a new session.
      this.#byMs.delete(sessionMs)
      const ending = session.close()
      this.#ending.add(ending)
      void ending.then(() => this.#ending.delete(ending))
    }
    if (this.#round === null || [...this.#byMs.keys()].some((sessionMs) => sessionMs !== lastingMs)) return
    clearInterval(this.#round)
    this.#round = null
  }
}
