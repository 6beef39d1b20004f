/** Makes one visit after another, and writes down what it saw. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ErrandKind, Visit } from '../generator/errand.ts'
import { micros } from '../history/clock.ts'
import type { LineSpec, Micros } from '../history/event.ts'
import type { Recorder } from '../history/recorder.ts'
import type { LineToReferee } from '../referee/line-to-referee.ts'
import type { Claim, LockClient } from './lock-client.ts'

interface Parts {
  readonly p: string
  readonly client: LockClient
  readonly recorder: Recorder
  readonly referee: LineToReferee
  /** Ends waits and stays. */
  readonly stop: AbortSignal
}

/** The request, as the history shows it. */
export interface Asked {
  readonly line: LineSpec
  readonly exclusive: boolean
  readonly weight: number
  readonly waitMs: number
  /** The visit whose place is to become heavier. */
  readonly over?: number
  /** The errand to which the visit belongs; default: a visit of its own. */
  readonly errand?: ErrandKind
}

/** The work inside the lock. */
export interface Stay {
  readonly line: LineSpec
  readonly exclusive: boolean
  readonly stayMs: number
  /** The holder has read before, beside others. */
  readonly upgraded?: boolean
}

export class Visitor {
  readonly client: LockClient
  readonly stop: AbortSignal
  readonly #parts: Parts
  #count = 0

  constructor(parts: Parts) {
    this.#parts = parts
    this.client = parts.client
    this.stop = parts.stop
  }

  async visit(errand: Omit<Visit, 'kind' | 'restMs'>, kind: ErrandKind = 'visit'): Promise<void> {
    const { line, exclusive, weight, waitMs } = errand
    const i = this.ask({ line, exclusive, weight, waitMs, errand: kind })
    const claim = await this.answered(i, () =>
      this.client.acquire({ line, exclusive, weight, waitMs, signal: this.stop }),
    )
    if (claim !== null) await this.enjoy(i, errand, claim)
  }

  /** The number of a new visit, which begins now. */
  ask({ line, exclusive, weight, waitMs, over, errand = 'visit' }: Asked): number {
    const { p, recorder } = this.#parts
    const i = this.#count++
    const part = { ...(over === undefined ? {} : { over }), ...(errand === 'visit' ? {} : { errand }) }
    recorder.record({ e: 'acquire', t: micros(), p, i, line: line.name, weight, exclusive, waitMs, ...part })
    return i
  }

  /** Writes down the outcome. */
  async answered<T extends Claim>(i: number, ask: () => Promise<T | null>): Promise<T | null> {
    const answers = await this.allAnswered([i], async () => {
      const claim = await ask()
      return claim === null ? null : [claim]
    })
    return answers?.[0] ?? null
  }

  /** The same for several that come out as one; `hasGivenUp` says whether their caller wants nothing any more. */
  async allAnswered<T extends Claim>(
    visits: readonly number[],
    ask: () => Promise<readonly T[] | null>,
    hasGivenUp: () => boolean = () => false,
  ): Promise<readonly T[] | null> {
    const { p, recorder } = this.#parts
    let claims: readonly T[] | null
    try {
      claims = await ask()
    } catch (error) {
      const t = micros()
      for (const i of visits) recorder.record({ e: 'acquired', t, p, i, outcome: 'unknown', error: told(error) })
      return null
    }
    const aborted = hasGivenUp() ? { aborted: true as const } : {}
    const t = micros()
    for (const [at, i] of visits.entries()) {
      const claim = claims?.[at]
      if (claim === undefined) recorder.record({ e: 'acquired', t, p, i, outcome: 'fail' })
      else {
        const token = claim.token === null ? {} : { token: String(claim.token) }
        recorder.record({ e: 'acquired', t, p, i, outcome: 'ok', ...token, ...until(t, claim), ...aborted })
      }
    }
    return claims
  }

  /** Acts, releases, and leaves. */
  async enjoy(i: number, stay: Stay, claim: Claim): Promise<void> {
    try {
      await this.act(i, stay, claim)
      await this.release(i, claim)
    } finally {
      this.leave(i, stay.line)
    }
  }

  /** Reads, stays, writes, like any holder of a lock. false: the lock was lost, or the resource refused a step. */
  async act(i: number, stay: Stay, claim: Claim): Promise<boolean> {
    // Written down when it is told, not when it is looked at: a lock may be lost before its lease ends, and then others
    // may have it at once.
    claim.lost?.addEventListener('abort', () => this.#lost(i), { once: true })
    if (!(await this.step(i, 'read', stay, claim))) return false
    await pause(stay.stayMs, this.stop)
    return this.step(i, 'write', stay, claim)
  }

  /** Each step is guarded by a look at the claim, and nothing comes between the two. */
  async step(i: number, what: 'read' | 'write', { line, exclusive, upgraded }: Stay, claim: Claim): Promise<boolean> {
    const { referee } = this.#parts
    // Stamped before the look: a deadline that passes between the look and the stamp is nobody's fault.
    const begun = micros()
    const { leftMs, token } = claim
    if (!claim.isHeld()) {
      this.#lost(i)
      return false
    }
    const given = token === null ? {} : { token: String(token) }
    const how = upgraded === true ? { upgraded } : {}
    // What is left is more than nothing, if it is less than a microsecond.
    const deadline = leftMs > 0 ? { leftMs: Math.max(leftMs, 0.001) } : { leftMs }
    return referee.step({ i, line: line.name, what, exclusive, begun, ...how, ...given, ...until(begun, deadline) })
  }

  async release(i: number, claim: Claim): Promise<void> {
    const { p, recorder } = this.#parts
    const t = micros()
    recorder.record({ e: 'release', t, p, i, ...until(t, claim) })
    try {
      const ours = await claim.release()
      recorder.record({ e: 'released', t: micros(), p, i, outcome: ours ? 'ok' : 'fail' })
    } catch (error) {
      recorder.record({ e: 'released', t: micros(), p, i, outcome: 'unknown', error: told(error) })
    }
  }

  #lost(i: number): void {
    const { p, recorder } = this.#parts
    recorder.record({ e: 'lost', t: micros(), p, i })
  }

  /** After the release: one that is stopped between check and release is still a holder to aim at. */
  leave(i: number, line: LineSpec): void {
    this.#parts.referee.leave(i, line.name)
  }
}

/** The stamp is taken before the lease is looked at: the deadline comes out a little early, never late. */
function until(t: Micros, { leftMs }: Pick<Claim, 'leftMs'>): { readonly until?: Micros } {
  return leftMs === Number.POSITIVE_INFINITY ? {} : { until: Math.floor(t + leftMs * 1_000) }
}

/** Our own bugs are not outcomes: they end the process, and the run reports that. */
function told(error: unknown): string {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError) throw error
  const code = 'code' in error ? `${String(error.code)}: ` : ''
  return `${code}${error.message}`.slice(0, 200)
}

/** Sleeps; wakes early if everything stops. */
export async function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (ms < 1 || stop.aborted) return
  try {
    await sleep(ms, undefined, { signal: stop })
  } catch (error) {
    if (!stop.aborted) throw error
  }
}
