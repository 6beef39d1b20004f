/** One leader among many candidates, and everybody can see who. A candidate is a place in a line; the leader is its head. */
import { checkFunction, checkKeys, shown } from '../core/check.ts'
import type { Core } from '../core/core.ts'
import { UsageError } from '../core/errors.ts'
import type { Held } from '../core/held.ts'
import { LineLock, type Lock } from '../core/lock.ts'
import type { AcquireOptions, LockOptions, LockSettings } from '../core/options.ts'
import { makeSpec } from '../core/spec.ts'
import { renewMs } from '../core/validity.ts'

export interface ElectionOptions extends LockOptions {
  /** What others see of this candidate: an address, a name. Default ''; together with label and host at most 1 kB of JSON. */
  readonly value?: string
}

/** Who leads, as the store shows it. */
export interface Leader {
  readonly value: string
  readonly token: bigint
  readonly host: string
  readonly pid: number
}

export interface Election {
  readonly name: string
  /** Stands for election, and leads from the moment it resolves: until `resign`, or until the signal of what it gives fires. */
  campaign(options?: AcquireOptions): Promise<Held>
  /** Gives up all that was won through this object. True: it still led. */
  resign(): Promise<boolean>
  leader(): Promise<Leader | null>
  /** The present leader, and then every change; null while there is none. Ends with the signal, or with `break`. */
  observe(options?: { readonly signal?: AbortSignal }): AsyncIterable<Leader | null>
  /** Leads and works, again after each loss, until the work ends by itself or the signal fires. */
  run<T>(
    fn: (held: Held, signal: AbortSignal) => T | PromiseLike<T>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<T>
}

export class LineElection implements Election {
  readonly #core: Core
  readonly #lock: Lock
  readonly #settings: LockSettings
  readonly #won = new Set<Held>()

  constructor(core: Core, name: string, settings: LockSettings, value: string) {
    this.#core = core
    this.#settings = settings
    this.#lock = new LineLock(
      core,
      makeSpec(core.runtime, { name, mode: 'exclusive', weight: 1, capacity: 1 }, settings, value),
    )
  }

  get name(): string {
    return this.#lock.name
  }

  async campaign(options?: AcquireOptions): Promise<Held> {
    const held = await this.#lock.acquire(options)
    // The grant may be older than the moment that it is told: announce nobody who no longer leads.
    held.assertHeld()
    this.#won.add(held)
    held.signal.addEventListener('abort', () => this.#won.delete(held), { once: true })
    return held
  }

  async resign(): Promise<boolean> {
    const won = [...this.#won]
    this.#won.clear()
    const ends = await Promise.all(won.map((held) => held.release()))
    return ends.includes(true)
  }

  async leader(): Promise<Leader | null> {
    this.#core.assertOpen()
    for await (const line of this.#core.driver.list(this.name)) {
      if (line.name !== this.name) continue
      const [head] = line.holders
      if (head === undefined) return null
      const { value = '', token, host, pid } = head
      return { value, token: token * 1024n, host, pid }
    }
    return null
  }

  async *observe(options?: { readonly signal?: AbortSignal }): AsyncGenerator<Leader | null> {
    const signal = checkSignal(options)
    let wake = (): void => {}
    const stop = await this.#core.driver.watch(this.name, null, () => wake())
    try {
      for (let last: bigint | null | undefined; ; ) {
        if (signal?.aborted === true) return
        // Made before the look: what changes while we look must not be missed.
        const changed = new Promise<void>((resolve) => {
          wake = resolve
        })
        const leader = await this.leader()
        const token = leader?.token ?? null
        if (token !== last) yield leader
        last = token
        await this.#pause(changed, signal)
      }
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
      const held = await this.campaign(signal === null ? {} : { signal })
      const ending = signal === null ? held.signal : AbortSignal.any([held.signal, signal])
      try {
        const result = await fn(held, ending)
        if ((await held.release()) || signal?.aborted === true) return result
      } catch (error) {
        if ((await held.release()) || signal?.aborted === true) throw error
      } finally {
        this.#won.delete(held)
      }
    }
  }

  /** Until something changes, the next look is due (a wake-up may be lost), or nobody wants to know any more. */
  #pause(changed: Promise<void>, signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel()
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const cancel = this.#core.runtime.after(renewMs(this.#settings.ttlMs), done, true)
      signal?.addEventListener('abort', done, { once: true })
      void (async () => {
        await changed
        done()
      })()
    })
  }
}

function checkSignal(options: { readonly signal?: AbortSignal } | undefined): AbortSignal | null {
  const { signal } = checkKeys('options', options, ['signal'])
  if (signal === undefined) return null
  if (!(signal instanceof AbortSignal)) throw new UsageError(`signal must be an AbortSignal, given ${shown(signal)}`)
  return signal
}
