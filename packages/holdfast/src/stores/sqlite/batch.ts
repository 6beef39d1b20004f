/**
 * The queue before the file: the jobs of one turn of the event loop go into one immediate transaction. A busy file is
 * tried again asynchronously, so that no call blocks the event loop for long.
 */
import { ClosedError, HoldfastError, StoreUnreachableError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { backoffMs } from '../shared/backoff.ts'
import { type Engine, rollBack, type Statement } from './engine.ts'
import { isBusy, toStoreError } from './errors.ts'

export type BatchRuntime = Pick<Runtime, 'now' | 'after' | 'random'>

/** Hears what happens around the transactions. */
export interface BatchListener {
  /** Called before a transaction; if it throws, all queued jobs fail. */
  before(): void
  committed(): void
  rolledBack(): void
}

interface Turn {
  readonly job: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly askedAt: number
  /** True: its last transaction failed. Now it gets a transaction of its own, so that only the culprit fails. */
  isSolo: boolean
}

type Outcome = { readonly turn: Turn; readonly value: unknown } | { readonly turn: Turn; readonly error: HoldfastError }

/** How long to try a busy file again before the callers get an error. */
const BUSY_MS_MAX = 5_000
const PAUSE = { backoffMinMs: 0.25, backoffMaxMs: 10 }
/** Jobs beyond this go into the next transaction, after the event loop has had its turn. */
const WORK_MS_MAX = 4
const LET_ROUND_MS = 2

export class TransactionBatch {
  readonly #path: string
  readonly #runtime: BatchRuntime
  readonly #listener: BatchListener
  readonly #engine: Engine
  readonly #begin: Statement
  readonly #commit: Statement
  #queue: Turn[] = []
  #isScheduled = false
  #closed: (() => void) | null = null
  #busyTries = 0
  #letRoundAt = Number.NEGATIVE_INFINITY

  constructor(engine: Engine, path: string, runtime: BatchRuntime, listener: BatchListener) {
    this.#engine = engine
    this.#path = path
    this.#runtime = runtime
    this.#listener = listener
    this.#begin = engine.prepare('BEGIN IMMEDIATE')
    this.#commit = engine.prepare('COMMIT')
  }

  /**
   * Runs the job inside a transaction. The job may run again after a rollback, so it must touch nothing but the file.
   */
  run<T>(job: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed !== null) {
        reject(new ClosedError('this SQLite store was closed; open it again with sqlite()'))
        return
      }
      const askedAt = this.#runtime.now()
      this.#queue.push({ job, resolve: resolve as (value: unknown) => void, reject, askedAt, isSolo: false })
      if (this.#isScheduled) return
      this.#isScheduled = true
      this.#schedule(askedAt)
    })
  }

  /** Refuses further jobs; settles when the queue is empty. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#closed = resolve
      if (this.#queue.length === 0) resolve()
    })
  }

  /**
   * Runs after all promises of this turn have settled: then their calls join the same transaction. But a caller that
   * takes and releases in a loop must not keep the event loop from timers and sockets, so now and then the loop goes
   * round.
   */
  #schedule(now: number): void {
    if (now - this.#letRoundAt < LET_ROUND_MS) {
      process.nextTick(() => this.#serve())
      return
    }
    setImmediate(() => {
      this.#letRoundAt = this.#runtime.now()
      this.#serve()
    })
  }

  #serve(): void {
    try {
      this.#listener.before()
      this.#begin.run()
    } catch (error) {
      if (isBusy(error)) this.#waitForOthers(error)
      else this.#failAll(error)
      return
    }
    const outcomes: Outcome[] = []
    try {
      this.#work(outcomes)
      this.#commit.run()
    } catch (error) {
      // This runs in a timer: to throw would end the process.
      const isBack = rollBack(this.#engine)
      this.#listener.rolledBack()
      if (!isBack) this.#failAll(error)
      else if (isBusy(error)) this.#waitForOthers(error)
      else this.#blame(outcomes, error)
      return
    }
    this.#busyTries = 0
    this.#queue.splice(0, outcomes.length)
    this.#listener.committed()
    settle(outcomes)
    this.#next()
  }

  /**
   * Runs the jobs of the queue without removing them. An error of ours that a job throws is its answer; any other error
   * undoes the turn.
   */
  #work(outcomes: Outcome[]): void {
    const until = this.#runtime.now() + WORK_MS_MAX
    for (const turn of this.#queue) {
      if (outcomes.length > 0 && (turn.isSolo || this.#runtime.now() >= until)) return
      try {
        outcomes.push({ turn, value: turn.job() })
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error
        outcomes.push({ turn, error })
      }
      if (turn.isSolo) return
    }
  }

  /** The engine failed in this transaction: if one job was alone in it, that job gets the error. */
  #blame(outcomes: readonly Outcome[], error: unknown): void {
    const first = this.#queue[0]
    if (first?.isSolo === true || this.#queue.length === 1) {
      this.#queue.shift()
      first?.reject(toStoreError(error, this.#path))
    } else {
      // One of these jobs is the culprit, and the others must not suffer for it.
      for (const turn of this.#queue.slice(0, outcomes.length + 1)) turn.isSolo = true
    }
    this.#next()
  }

  #next(): void {
    if (this.#queue.length > 0) {
      setImmediate(() => this.#serve())
      return
    }
    this.#isScheduled = false
    this.#closed?.()
  }

  #waitForOthers(error: unknown): void {
    const now = this.#runtime.now()
    const late = this.#queue.findIndex((turn) => now - turn.askedAt < BUSY_MS_MAX)
    for (const turn of this.#queue.splice(0, late === -1 ? this.#queue.length : late)) {
      turn.reject(
        new StoreUnreachableError(
          `sqlite: ${this.#path} was busy for ${BUSY_MS_MAX} ms; another process keeps it locked`,
          { cause: error },
        ),
      )
    }
    if (this.#queue.length === 0) {
      this.#next()
      return
    }
    const pauseMs = backoffMs(this.#busyTries++, PAUSE, this.#runtime.random())
    if (pauseMs < 0.5) setImmediate(() => this.#serve())
    else this.#runtime.after(pauseMs, () => this.#serve(), true)
  }

  #failAll(error: unknown): void {
    const shown = toStoreError(error, this.#path)
    for (const turn of this.#queue.splice(0)) turn.reject(shown)
    this.#next()
  }
}

function settle(outcomes: readonly Outcome[]): void {
  for (const outcome of outcomes) {
    if ('error' in outcome) outcome.turn.reject(outcome.error)
    else outcome.turn.resolve(outcome.value)
  }
}
