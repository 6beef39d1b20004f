/**
 * Does a critical section survive a pause? The function runs on a simulated clock. At every `await` and in every call
 * of the resource in turn it is paused past its lease, while a second holder gets the lock.
 */
import { UsageError } from 'holdfast'
import { simulateClocks } from './clocks.ts'
import { type Harm, harmAlone, harmOf } from './judge.ts'
import type { RehearseOptions, Scene } from './options.ts'
import { type Played, play, type Stop } from './play.ts'
import { failureOf, type Rehearsal, RehearsalError } from './report.ts'

const SCHEDULES_MAX = 2_000
const ALL_PAUSES = ['await', 'call'] as const
/** A call of the first holder that leaves now arrives before that of the second. */
const JUST_BEFORE_MS = 1.5

const NEVER_MET =
  'in no schedule did the second holder get a lock that the first had had, so nothing was rehearsed: ' +
  'both must ask for the same lock, and the function must call the resource or await something while it holds it'

/**
 * Runs the function through every pause. Rejects with a RehearsalError if a schedule does harm: its message shows the
 * first such schedule and names what is missing, so a test fails with it, in any test runner. UsageError: the function
 * fails without any pause.
 */
export async function rehearse<T extends object>(
  fn: (scene: Scene<T>) => unknown,
  options: RehearseOptions<T>,
): Promise<Rehearsal> {
  const rehearsal = await survey(fn, options)
  if (rehearsal.failure !== null) throw new RehearsalError(rehearsal)
  return rehearsal
}

/** The same, without the error. */
export async function survey<T extends object>(
  fn: (scene: Scene<T>) => unknown,
  options: RehearseOptions<T>,
): Promise<Rehearsal> {
  checkOptions(fn, options)
  const restore = simulateClocks()
  try {
    return await new Survey(fn, options).run()
  } finally {
    restore()
  }
}

class Survey<T extends object> {
  readonly #fn: (scene: Scene<T>) => unknown
  readonly #options: RehearseOptions<T>
  readonly #max: number
  #schedules = 0
  #rivalMs = 0
  /** In how many schedules the second holder had the lock of the first. */
  #met = 0
  #alone: Played | null = null

  constructor(fn: (scene: Scene<T>) => unknown, options: RehearseOptions<T>) {
    this.#fn = fn
    this.#options = options
    this.#max = options.schedulesMax ?? SCHEDULES_MAX
  }

  async run(): Promise<Rehearsal> {
    const { pauses = ALL_PAUSES, rival } = this.#options
    const alone = await this.#play(null)
    this.#alone = alone
    checkAlone(alone, 'the function')
    const bare = harmAlone(alone)
    if (bare !== null) return this.#end(alone, bare)
    this.#rivalMs = alone.endMs
    if (rival !== undefined) {
      const other = await play(rival, this.#options, null, 0)
      checkAlone(other, 'the rival')
      this.#rivalMs = other.endMs
    }
    const counts = { await: alone.awaits, call: alone.calls.sent.length }
    for (const at of pauses) {
      for (let index = 0; index < counts[at]; index++) {
        const found = await this.#pauseAt({ at, index, untilMs: null })
        if (found !== null) return this.#end(found.played, found.harm)
        if (this.#schedules >= this.#max) return this.#end(null, null)
      }
    }
    if (this.#met === 0) throw new UsageError(NEVER_MET)
    return this.#end(null, null)
  }

  /** First until the rival has ended, then until just before each further call of the rival. */
  async #pauseAt(stop: Stop): Promise<{ readonly played: Played; readonly harm: Harm } | null> {
    const whole = await this.#play(stop)
    const harm = harmOf(whole)
    if (harm !== null) return { played: whole, harm }
    const times = whole.calls.seen.filter(({ actor }) => actor === whole.second).map(({ seenMs }) => seenMs as number)
    for (const seenMs of times.slice(1)) {
      if (this.#schedules >= this.#max) return null
      const played = await this.#play({ ...stop, untilMs: seenMs - JUST_BEFORE_MS })
      const amid = harmOf(played)
      if (amid !== null) return { played, harm: amid }
    }
    return null
  }

  async #play(stop: Stop | null): Promise<Played> {
    this.#schedules++
    const played = await play(this.#fn, this.#options, stop, this.#rivalMs)
    const lines = new Set([...played.first.grants.values()].map(({ entry }) => entry.line))
    if ([...played.second.grants.values()].some(({ entry }) => lines.has(entry.line))) this.#met++
    return played
  }

  #end(played: Played | null, harm: Harm | null): Rehearsal {
    return {
      schedules: this.#schedules,
      awaits: this.#alone?.awaits ?? 0,
      calls: this.#alone?.calls.sent.length ?? 0,
      met: this.#met,
      isWhole: this.#schedules < this.#max,
      pauses: this.#options.pauses ?? ALL_PAUSES,
      failure: played === null || harm === null ? null : failureOf(played, harm),
    }
  }
}

function checkAlone({ ends }: Played, who: string): void {
  const { first } = ends
  if (typeof first !== 'object') return
  const { error } = first
  const said = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  throw new UsageError(`${who} fails without any pause: ${said}`, { cause: error })
}

function checkOptions(fn: unknown, options: unknown): void {
  if (typeof fn !== 'function') throw new UsageError(`rehearse needs a function, not ${typeof fn}`)
  const { resource, schedulesMax = 1 } = (options ?? {}) as Partial<RehearseOptions<object>>
  if (typeof resource !== 'function')
    throw new UsageError('rehearse needs { resource }: a function that makes what the lock protects')
  if (!Number.isInteger(schedulesMax) || schedulesMax < 1 || schedulesMax > 1_000_000)
    throw new UsageError(`schedulesMax must be a whole number from 1 to 1 000 000, not ${String(schedulesMax)}`)
}
