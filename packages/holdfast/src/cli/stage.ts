/** What a program under a hold needs besides the hold: the store, and the signals that are sent to us. */
import { AcquireTimeoutError, UsageError } from '../contract/errors.ts'
import type { Driver } from '../contract/driver.ts'
import type { SqliteDriver } from '../stores/sqlite/index.ts'
import type { Held } from '../hold/held.ts'
import type { Holdfast } from '../holdfast.ts'
import { errorText, signalExit } from './exit.ts'
import { complain, debug } from './output.ts'
import { orRefused } from './refused.ts'
import { Interrupted, Signals } from './signals.ts'
import type { Task } from './task.ts'
import { WaitNotice } from './waiting.ts'

/** How long we try to tell the store that the lock is free; after that, others wait for the end of the lease. */
const FAREWELL_MS = 5_000

export class Stage {
  readonly signals: Signals = new Signals()
  readonly #task: Task
  #driver: (Driver & { alsoAlive?: SqliteDriver['alsoAlive'] }) | null = null
  #hf: Holdfast | null = null

  private constructor(task: Task) {
    this.#task = task
  }

  /** Does the work of a command, and returns its exit code; 128+n if a signal ended the wait. */
  static async use(task: Task, work: (stage: Stage) => Promise<number>): Promise<number> {
    if (process.platform === 'win32') {
      throw new UsageError(
        'running a program needs process groups, which Windows does not have: run it in WSL, or use the library ' +
          'in the program',
      )
    }
    const stage = new Stage(task)
    try {
      return await work(stage)
    } catch (error) {
      if (error instanceof Interrupted) return signalExit(error.signal)
      if (!(error instanceof AcquireTimeoutError)) throw error
      if (!task.quiet) complain(errorText(error))
      return task.busyExit
    } finally {
      await stage.#farewell()
    }
  }

  async open(): Promise<Holdfast> {
    const [{ openDriver }, { makeInstance }] = await Promise.all([import('../open.ts'), import('../holdfast.ts')])
    const { store, ttlMs, label } = this.#task
    const { driver, options } = await orRefused(store, () =>
      // `supervise` looks after --max-hold.
      openDriver(store, { ttlMs, label, maxHoldMs: Number.POSITIVE_INFINITY }),
    )
    this.#driver = driver
    this.#hf = makeInstance(driver, options)
    if (this.#hf.traits.scope === 'process') {
      throw new UsageError('only one process can see this store, so it locks nothing here; use a sqlite: file')
    }
    return this.#hf
  }

  /** Waits for the lock, and tells people whom it waits for and when the store can't be reached. */
  async wait(acquire: (signal: AbortSignal) => Promise<Held>): Promise<Held> {
    const hf = this.#hf as Holdfast
    const { name, store, quiet } = this.#task
    const waiting = quiet ? null : new WaitNotice(hf, name)
    try {
      return await orRefused(store, (signal) => acquire(AbortSignal.any([this.signals.interrupt, signal])))
    } finally {
      waiting?.end()
    }
  }

  /** For stores that can see that a process has died: our place stays alive as long as the given process lives, too. */
  async tie(pid: number, options?: { readonly group?: boolean }): Promise<void> {
    await this.#driver?.alsoAlive?.(this.#task.name, pid, options)
  }

  /**
   * Releases the lock. The result of the program counts more than ours: if the store does not answer, others only wait
   * for the end of the lease.
   */
  async #farewell(): Promise<void> {
    if (this.#hf === null) return
    let timer: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FAREWELL_MS)
    })
    await Promise.race([this.#hf.close().catch(debug), patience])
    clearTimeout(timer)
  }
}
