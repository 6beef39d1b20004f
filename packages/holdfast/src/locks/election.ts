/**
 * One leader among many candidates, and everybody can see who leads. A candidate is a place in a line; the leader is
 * the head of the line.
 */
import { checkFunction, checkKeys, shown } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import { channels, diagnostics } from '../contract/events.ts'
import { LockLostError, NotHeldError, UsageError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import { holdersOf } from '../acquire/holders.ts'
import { LineLock, type Lock } from '../acquire/lock.ts'
import { type AcquireOptions, type LockOptions, type LockSettings, resolveAcquire } from '../contract/options.ts'
import { makeSpec } from '../acquire/spec.ts'
import { renewMs } from '../contract/validity.ts'
import { pause } from '../kit/pause.ts'

/** Options of an election. */
export interface ElectionOptions extends LockOptions {
  /**
   * What others see of this candidate: an address, a name. Default ''; together with label and host at most 1 kB of
   * JSON.
   */
  readonly value?: string
}

/** Who leads, as the store shows it. */
export interface Leader {
  /** What the leader says about itself. */
  readonly value: string
  readonly token: bigint
  readonly host: string
  readonly pid: number
}

/** One leader among many candidates, seen by all. */
export interface Election {
  readonly name: string
  /**
   * Stands for election, and leads from the moment it resolves. It leads until `resign`, or until the signal of the
   * returned hold fires.
   */
  campaign(options?: AcquireOptions): Promise<Held>
  /**
   * Gives up all that was won through this object. True: it still led. Work given to `run` hears of it by its signal,
   * and leads until it has ended, because the next leader must not begin beside it.
   */
  resign(): Promise<boolean>
  /** Who leads now; null: nobody. */
  leader(): Promise<Leader | null>
  /** The present leader, and then every change; null while nobody leads. Ends with the signal, or with `break`. */
  observe(options?: { readonly signal?: AbortSignal }): AsyncIterable<Leader | null>
  /**
   * Leads and works, and stands again after each loss, until the work ends by itself, you call `resign`, or your signal
   * fires. In each of these cases the signal that the work gets fires. What the work throws after a loss goes to
   * diagnostics only.
   */
  run<T>(
    fn: (held: Held, signal: AbortSignal) => T | PromiseLike<T>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<T>
}

export class LineElection implements Election {
  readonly #core: Core
  readonly #lock: Lock
  readonly #settings: LockSettings
  readonly #value: string
  /** The holds won, each with a way to stop the work under it; null if the caller looks after the work. */
  readonly #won = new Map<Held, (() => boolean) | null>()

  constructor(core: Core, name: string, settings: LockSettings, value: string) {
    this.#core = core
    this.#settings = settings
    this.#value = value
    const { onState } = settings
    const watched: LockSettings = {
      ...settings,
      onState: (state, held) => {
        // However a hold ends, forget it then, so that `resign` does not release it again.
        if (state === 'released' || state === 'lost') this.#over(held)
        onState?.(state, held)
      },
    }
    this.#lock = new LineLock(core, makeSpec(core, { name, mode: 'exclusive', weight: 1, capacity: 1 }, watched, value))
  }

  get name(): string {
    return this.#lock.name
  }

  #lead(held: Held): void {
    if (!channels.elected.hasSubscribers) return
    const { source } = this.#core
    channels.elected.publish({ ...source, lock: this.name, token: held.token, value: this.#value })
  }

  #over(held: Held): void {
    this.#won.delete(held)
    if (!channels.resigned.hasSubscribers) return
    channels.resigned.publish({ ...this.#core.source, lock: this.name, token: held.token })
  }

  async campaign(options?: AcquireOptions): Promise<Held> {
    const held = await this.#win(options)
    if (held.state === 'held' || held.state === 'at-risk') this.#won.set(held, null)
    return held
  }

  async resign(): Promise<boolean> {
    const won = [...this.#won]
    this.#won.clear()
    const ends = await Promise.all(won.map(async ([held, stop]) => stop?.() ?? held.release()))
    return ends.includes(true)
  }

  async leader(): Promise<Leader | null> {
    this.#core.assertOpen()
    const [head] = await holdersOf(this.#core.driver, this.name)
    if (head === undefined) return null
    const { value = '', token, host, pid } = head
    return { value, token, host, pid }
  }

  async *observe(options?: { readonly signal?: AbortSignal }): AsyncGenerator<Leader | null> {
    const signal = checkSignal(options)
    let wake = (): void => {}
    const stop = await this.#core.driver.watch(this.name, null, () => wake())
    try {
      for (let last: bigint | null | undefined; ; ) {
        if (signal?.aborted === true) return
        // Make the promise before the look, so that no change during the look is missed.
        const changed = new Promise<void>((resolve) => {
          wake = resolve
        })
        const leader = await this.leader()
        const token = leader?.token ?? null
        if (token !== last) yield leader
        last = token
        // A wake-up may be lost, so look again after a while without one.
        await pause(this.#core.runtime, renewMs(this.#settings.ttlMs), signal, changed)
      }
    } catch (error) {
      if (signal?.aborted !== true || error !== signal.reason) throw error
    } finally {
      stop()
    }
  }

  async run<T>(
    fn: (held: Held, signal: AbortSignal) => T | PromiseLike<T>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<T> {
    checkFunction('the work given to run', fn)
    const signal = checkSignal(options)
    for (;;) {
      const held = await this.#win(signal === null ? {} : { signal })
      const resigned = new AbortController()
      const signals = [held.signal, resigned.signal, ...(signal === null ? [] : [signal])]
      this.#won.set(held, () => {
        resigned.abort(new NotHeldError(`election ${JSON.stringify(this.name)}: resigned`, { line: this.name }))
        return held.state !== 'lost'
      })
      try {
        const result = await fn(held, AbortSignal.any(signals))
        if ((await held.release()) || signal?.aborted === true || resigned.signal.aborted) return result
      } catch (error) {
        if ((await held.release()) || signal?.aborted === true || resigned.signal.aborted) throw error
        diagnostics.failed(this.name, error)
      } finally {
        this.#won.delete(held)
      }
    }
  }

  /**
   * Wins, and announces the leader as of now. A grant may be older than the moment we read it, so check first: nobody
   * is announced who no longer leads.
   */
  async #win(options?: AcquireOptions): Promise<Held> {
    const { waitMs } = resolveAcquire(options, false)
    const { runtime } = this.#core
    const until = runtime.now() + waitMs
    for (let leftMs = waitMs; ; leftMs = Math.max(1, until - runtime.now())) {
      const held = await this.#lock.acquire({ ...options, waitMs: leftMs })
      try {
        held.assertHeld()
        this.#lead(held)
        return held
      } catch (error) {
        await held.release()
        if (!(error instanceof LockLostError) || runtime.now() >= until) throw error
      }
    }
  }
}

function checkSignal(options: { readonly signal?: AbortSignal } | undefined): AbortSignal | null {
  const { signal } = checkKeys('options', options, ['signal'])
  if (signal === undefined) return null
  if (!(signal instanceof AbortSignal)) throw new UsageError(`signal must be an AbortSignal, given ${shown(signal)}`)
  return signal
}
