/**
 * Holdfast as the client under test, by its public API only; the driver is opened apart, so that its wake-ups can be
 * counted.
 */
import {
  AcquireTimeoutError,
  type Held,
  type Holdfast,
  holdfast,
  type Lock,
  type Semaphore,
  UnsupportedError,
} from 'holdfast'
import { openDriver } from 'holdfast/internal'
import type { ErrandKind } from '../generator/errand.ts'
import type { LineSpec } from '../history/event.ts'
import type { Claim, Crowd, LockClient, LockClientOptions, UpgradeClaim, Wish } from './lock-client.ts'
import { hearQueued } from './queued.ts'
import { hearWakes } from './wakes.ts'

const CONNECT_MS = 2_000

class HoldfastClient implements LockClient {
  readonly fair: boolean
  readonly fenced: boolean
  readonly counting: boolean
  readonly ttlMs: number
  readonly #hf: Holdfast
  readonly #strict: boolean

  constructor(hf: Holdfast, o: LockClientOptions) {
    this.#hf = hf
    this.fair = hf.traits.fair
    this.fenced = hf.traits.fenced
    this.counting = hf.traits.counting
    this.ttlMs = Math.max(o.ttlMs, hf.traits.ttlMsMin)
    // Half of the processes queue each caller in the store, the others hand over inside: by pairs, since the ways in
    // alternate.
    this.#strict = hf.traits.fair && (o.variant & 2) !== 0
  }

  acquire({ line, exclusive, weight, waitMs, signal }: Wish): Promise<Claim | null> {
    const options = { waitMs, signal }
    return orNull(signal, async () => {
      if (line.kind === 'semaphore') return claim(await this.#semaphore(line).acquire({ ...options, permits: weight }))
      return claim(await this.#lock(line, exclusive).acquire(options))
    })
  }

  /** Asked, not looked up: what is refused says why. */
  async lacks(line: string): Promise<Readonly<Partial<Record<ErrandKind, string>>>> {
    try {
      const held = await this.#hf.rwLock(line, this.#options).upgrade.tryAcquire()
      await held?.release()
      return {}
    } catch (error) {
      if (error instanceof UnsupportedError) return { upgrade: `refused: ${error.message}` }
      throw error
    }
  }

  upgradeable({ line, waitMs, signal }: Pick<Wish, 'line' | 'waitMs' | 'signal'>): Promise<UpgradeClaim | null> {
    return orNull(signal, async () => {
      const held = await this.#hf.rwLock(line.name, this.#options).upgrade.acquire({ waitMs, signal })
      const reader = claim(held)
      return {
        token: reader.token,
        get leftMs() {
          return reader.leftMs
        },
        isHeld: reader.isHeld,
        release: reader.release,
        upgrade: (wish) => orNull(wish.signal, async () => claim(await held.upgrade(wish))),
      }
    })
  }

  several(
    lines: readonly LineSpec[],
    { waitMs, signal }: Pick<Wish, 'waitMs' | 'signal'>,
  ): Promise<readonly Claim[] | null> {
    const locks = this.#hf.all(lines.map((line) => this.#lock(line, true)))
    return orNull(signal, async () => (await locks.acquire({ waitMs, signal })).holds.map(claim))
  }

  break(line: string, now: boolean): Promise<number> {
    return this.#hf.break(line, { now })
  }

  setup(): Promise<void> {
    return this.#hf.setup()
  }

  async crowd(line: LineSpec): Promise<Crowd> {
    for await (const view of this.#hf.list({ prefix: line.name })) {
      if (view.name === line.name) return { holders: view.holders.length, waiters: view.waiters.length }
    }
    return { holders: 0, waiters: 0 }
  }

  close(): Promise<void> {
    return this.#hf.close()
  }

  get #options(): { readonly fairness: 'strict' | 'local'; readonly ttlMs: number; readonly label: string } {
    return { fairness: this.#strict ? 'strict' : 'local', ttlMs: this.ttlMs, label: 'torture' }
  }

  #lock(line: LineSpec, exclusive: boolean): Lock {
    if (line.kind === 'mutex') return this.#hf.mutex(line.name, this.#options)
    const rw = this.#hf.rwLock(line.name, this.#options)
    return exclusive ? rw.write : rw.read
  }

  #semaphore(line: LineSpec): Semaphore {
    return this.#hf.semaphore(line.name, line.capacity, this.#options)
  }
}

/** null: the time-out was over, or the caller ended the wait. */
async function orNull<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof AcquireTimeoutError || error === signal.reason) return null
    throw error
  }
}

function claim(held: Held): Claim {
  return {
    token: held.token,
    get leftMs() {
      return held.remainingMs
    },
    lost: held.signal,
    isHeld: () => {
      try {
        held.assertHeld()
        return true
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'HF_LOST') return false
        throw error
      }
    },
    release: () => held.release(),
  }
}

export default async function openHoldfast(o: LockClientOptions): Promise<LockClient> {
  const { driver, options } = await openDriver(o.url, { connectTimeoutMs: CONNECT_MS })
  const hf = await holdfast(hearQueued(hearWakes(driver, o.onWoken), o.onQueued), options)
  return new HoldfastClient(hf, o)
}
