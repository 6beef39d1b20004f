/** Makes one visit after another, and writes down what it saw. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Errand } from '../generator/plan.ts'
import { micros } from '../history/clock.ts'
import type { Micros } from '../history/event.ts'
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

export class Visitor {
  readonly #parts: Parts
  #count = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async visit(errand: Errand): Promise<void> {
    const { referee } = this.#parts
    const i = this.#count++
    const claim = await this.#acquire(i, errand)
    if (claim === null) return
    try {
      await this.#act(i, errand, claim)
      await this.#release(i, claim)
    } finally {
      // After the release: one that is stopped between check and release is still a holder to aim at.
      referee.leave(i, errand.line.name)
    }
  }

  async #acquire(i: number, { line, exclusive, weight, waitMs }: Errand): Promise<Claim | null> {
    const { p, client, recorder, stop } = this.#parts
    recorder.record({ e: 'acquire', t: micros(), p, i, line: line.name, weight, exclusive, waitMs })
    let claim: Claim | null
    try {
      claim = await client.acquire({ line, exclusive, weight, waitMs, signal: stop })
    } catch (error) {
      recorder.record({ e: 'acquired', t: micros(), p, i, outcome: 'unknown', error: told(error) })
      return null
    }
    const t = micros()
    if (claim === null) recorder.record({ e: 'acquired', t, p, i, outcome: 'fail' })
    else {
      const token = claim.token === null ? {} : { token: String(claim.token) }
      recorder.record({ e: 'acquired', t, p, i, outcome: 'ok', ...token, ...until(t, claim) })
    }
    return claim
  }

  /** Reads, stays, writes: as those do who need a lock. Each step is guarded by a look at the claim, and nothing comes between the two. */
  async #act(i: number, errand: Errand, claim: Claim): Promise<void> {
    const { p, recorder, stop } = this.#parts
    for (const what of ['read', 'write'] as const) {
      if (what === 'write') await pause(errand.stayMs, stop)
      // Stamped before the look: a deadline that passes between the look and the stamp is nobody's fault.
      const began = micros()
      const { leftMs } = claim
      if (!claim.isHeld()) {
        recorder.record({ e: 'lost', t: micros(), p, i })
        return
      }
      if (!(await this.#step(i, what, errand, claim.token, { began, leftMs }))) return
    }
  }

  #step(
    i: number,
    what: 'read' | 'write',
    { line, exclusive }: Errand,
    token: bigint | null,
    { began: begun, leftMs }: { readonly began: Micros; readonly leftMs: number },
  ): Promise<boolean> {
    const given = token === null ? {} : { token: String(token) }
    // What is left is more than nothing, if it is less than a microsecond.
    const deadline = leftMs > 0 ? { leftMs: Math.max(leftMs, 0.001) } : { leftMs }
    return this.#parts.referee.step({ i, line: line.name, what, exclusive, begun, ...given, ...until(begun, deadline) })
  }

  async #release(i: number, claim: Claim): Promise<void> {
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
}

/** The stamp is taken before the lease is looked at: the deadline comes out a little early, never late. */
function until(t: Micros, { leftMs }: Pick<Claim, 'leftMs'>): { readonly until?: Micros } {
  return leftMs === Number.POSITIVE_INFINITY ? {} : { until: Math.floor(t + leftMs * 1_000) }
}

/** Faults of ours are not outcomes: they end the process, and the run tells of it. */
function told(error: unknown): string {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError) throw error
  const code = 'code' in error ? `${String(error.code)}: ` : ''
  return `${code}${error.message}`.slice(0, 200)
}

/** Sleeps; less when everything stops. */
export async function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (ms < 1 || stop.aborted) return
  try {
    await sleep(ms, undefined, { signal: stop })
  } catch (error) {
    if (!stop.aborted) throw error
  }
}
