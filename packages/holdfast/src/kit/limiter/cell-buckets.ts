/**
 * Rate limits on a store that has only compare-and-set: a bucket is a cell, and each change of the bucket is a swap.
 * While a swap is under way, this process collects all other demands for the key, and the next swap carries them
 * together.
 *
 * Such a store tells no time. So the clock is the most advanced of those of its clients: each client goes by its own
 * wall clock, and if a bucket was last changed by a clock further ahead, the client continues from that clock. So a
 * bucket never drains twice over the same time. Otherwise: A's clock is an hour ahead; A takes; B takes, and with its
 * own clock sets the bucket an hour back; A takes again, and finds an hour drained, every time. With this rule, a clock
 * that is ahead by s lets through what drains in s, once, and at most one burst. Clients that keep running go on from
 * there at the rate of their own monotonic clock. A client that starts with a clock behind sees nothing drain until its
 * clock has caught up.
 */
import { type Bucket, EMPTY, takeFrom } from '../../contract/bucket.ts'
import type { Core } from '../../acquire/core.ts'
import { AcquireTimeoutError, StoreError } from '../../contract/errors.ts'
import type { CellView, Demand, Taken } from '../../contract/driver.ts'
import { ForwardClock } from '../forward-clock.ts'
import { pause } from '../pause.ts'

interface Job {
  readonly demand: Demand
  resolve(taken: Taken): void
  reject(error: unknown): void
}

/** What this process knows of a key. */
interface Key {
  jobs: Job[]
  isBusy: boolean
  /** As the last answer said; null: must be read. */
  view: CellView | null
}

interface Applied {
  readonly answers: readonly Taken[]
  /** null: nothing to write. */
  readonly bucket: Bucket | null
  readonly keepMs: number
}

const KEYS_MAX = 4_096
const PAUSE_MS_MAX = 50
/** The store forgets a bucket that has been empty for long, but keeps a bucket that a slow clock still counts on. */
const KEEP_LONGER_MS = 1_000

export class CellBuckets {
  readonly #core: Core
  readonly #clock: ForwardClock
  readonly #keys = new Map<string, Key>()

  constructor(core: Core) {
    this.#core = core
    this.#clock = new ForwardClock(core.runtime)
  }

  take(name: string, demand: Demand): Promise<Taken> {
    let key = this.#keys.get(name)
    if (key === undefined) {
      if (this.#keys.size >= KEYS_MAX) this.#forget()
      key = { jobs: [], isBusy: false, view: null }
      this.#keys.set(name, key)
    }
    const { jobs } = key
    const answer = new Promise<Taken>((resolve, reject) => {
      jobs.push({ demand, resolve, reject })
    })
    if (!key.isBusy) void this.#work(name, key)
    return answer
  }

  async #work(name: string, key: Key): Promise<void> {
    key.isBusy = true
    while (key.jobs.length > 0) {
      const jobs = key.jobs
      key.jobs = []
      try {
        const answers = await this.#change(name, key, jobs)
        for (const [i, job] of jobs.entries()) job.resolve(answers[i] as Taken)
      } catch (error) {
        key.view = null
        for (const job of jobs) job.reject(error)
      }
    }
    key.isBusy = false
  }

  async #change(name: string, key: Key, jobs: readonly Job[]): Promise<readonly Taken[]> {
    const { driver, runtime, connectTimeoutMs } = this.#core
    const until = runtime.now() + connectTimeoutMs
    // A look must see the present state. A take may go by an old view: the swap fails if the view was out of date.
    const isLook = jobs.some(({ demand }) => demand.cost === 0)
    let view = (isLook ? null : key.view) ?? (await driver.swap(name, null))
    for (let tries = 0; ; tries++) {
      key.view = view
      const { answers, bucket, keepMs } = this.#apply(view, jobs)
      // This is right even from an old view, because others can only have taken more since.
      if (bucket === null) return answers
      const nonce = runtime.randomId()
      const next = JSON.stringify(bucket)
      const ttlMs = keepMs + KEEP_LONGER_MS
      view = await driver.swap(name, { version: view.version, next, ttlMs, nonce })
      if (view.nonce === nonce) {
        key.view = view
        return answers
      }
      if (runtime.now() >= until) {
        throw new AcquireTimeoutError(
          `rate limit ${JSON.stringify(name)}: others were faster ${tries + 1} times in ${connectTimeoutMs} ms`,
        )
      }
      if (tries > 0) await pause(runtime, Math.min(2 ** Math.min(tries, 10), PAUSE_MS_MAX) * runtime.random())
    }
  }

  #apply(view: CellView, jobs: readonly Job[]): Applied {
    let bucket = readBucket(view)
    this.#clock.observe(bucket.atUs / 1_000)
    const nowUs = Math.max(bucket.atUs, Math.floor(this.#clock.now() * 1_000))
    let isChanged = false
    let keepMs = 0
    const answers = jobs.map(({ demand }) => {
      const after = takeFrom(bucket, demand, nowUs)
      // Write a refusal down only if refusals are counted.
      if (demand.cost > 0 && (after.taken.taken || demand.shutAfter > 0)) {
        isChanged = true
        bucket = after.bucket
        keepMs = Math.max(keepMs, after.keepMs)
      }
      return after.taken
    })
    return { answers, bucket: isChanged ? bucket : null, keepMs }
  }

  /** Forgets only what can be read again. */
  #forget(): void {
    for (const [name, key] of this.#keys) if (!key.isBusy) this.#keys.delete(name)
  }
}

/** Another program may have written the cell. */
function readBucket({ value }: CellView): Bucket {
  if (value === null) return EMPTY
  try {
    const bucket = JSON.parse(value) as Bucket
    if (Number.isFinite(bucket.atUs)) return bucket
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error
  }
  throw new StoreError('another program has written into the cell of a rate limit; remove the cell')
}
