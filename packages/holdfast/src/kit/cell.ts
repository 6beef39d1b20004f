/**
 * A small shared value with a version. Read the value, and write it if nobody else has; or let `update` repeat both
 * until the write succeeds.
 */
import { checkFunction, checkKeys, checkSpan, shown } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import {
  AcquireTimeoutError,
  OutcomeUnknownError,
  StoreError,
  StoreUnreachableError,
  UsageError,
} from '../contract/errors.ts'
import type { CellView } from '../contract/driver.ts'
import { pause } from './pause.ts'

/** A value and its version. `undefined` with version 0n: there is no value. */
export interface Versioned<T> {
  /** undefined: there is no value. */
  readonly value: T | undefined
  /** Rises with every change; 0n when there is no value. */
  readonly version: bigint
}

/** Options of `update`. */
export interface UpdateOptions {
  /** How long to try again while others keep writing. Default 10 000; Infinity allowed. */
  readonly waitMs?: number
  /** Ends the tries; the promise rejects with the reason of the signal. Default none. */
  readonly signal?: AbortSignal
}

/** A small shared value with a version. */
export interface Cell<T> {
  readonly key: string
  /** The value and its version now. */
  read(): Promise<Versioned<T>>
  /**
   * Writes if the cell still has that version (0n: still absent). Returns the new version, or null: somebody else was
   * faster.
   */
  write(value: T, version: bigint): Promise<bigint | null>
  /** Removes the cell if it still has that version. False: somebody else was faster. */
  remove(version: bigint): Promise<boolean>
  /** Reads, computes and writes, and begins again if somebody else wrote in between. `fn` may run several times. */
  update(fn: (value: T | undefined) => T | PromiseLike<T>, options?: UpdateOptions): Promise<Versioned<T>>
}

const VALUE_BYTES_MAX = 65_536
const UPDATE_WAIT_MS = 10_000

export class StoreCell<T> implements Cell<T> {
  readonly key: string
  readonly #core: Core
  readonly #ttlMs: number

  /** `ttlMs`: how long a written value lasts; 0 for ever. */
  constructor(core: Core, key: string, ttlMs = 0) {
    this.#core = core
    this.key = key
    this.#ttlMs = ttlMs
  }

  async read(): Promise<Versioned<T>> {
    this.#core.assertOpen()
    const { view } = await this.#ask(() => this.#core.driver.swap(this.key, null))
    return this.#parse(view)
  }

  async write(value: T, version: bigint): Promise<bigint | null> {
    const written = await this.#swap(this.#encode(value), version)
    return written?.version ?? null
  }

  async remove(version: bigint): Promise<boolean> {
    return (await this.#swap(null, version)) !== null
  }

  async update(fn: (value: T | undefined) => T | PromiseLike<T>, options?: UpdateOptions): Promise<Versioned<T>> {
    checkFunction('the function given to update', fn)
    const given = checkKeys('update options', options, ['waitMs', 'signal'])
    const waitMs = given.waitMs === undefined ? UPDATE_WAIT_MS : checkSpan('waitMs', given.waitMs)
    const { runtime } = this.#core
    const until = runtime.now() + waitMs
    for (let tries = 0; ; tries++) {
      options?.signal?.throwIfAborted()
      const before = await this.read()
      const value = await fn(before.value)
      const version = await this.write(value, before.version)
      if (version !== null) return { value, version }
      if (runtime.now() >= until) {
        throw new AcquireTimeoutError(
          `cell ${JSON.stringify(this.key)}: others were faster ${tries + 1} times in ${waitMs} ms`,
          { line: this.key },
        )
      }
      await pause(runtime, Math.min(2 ** Math.min(tries, 6), 50) * runtime.random())
    }
  }

  async #swap(next: string | null, version: bigint): Promise<CellView | null> {
    this.#core.assertOpen()
    if (typeof version !== 'bigint' || version < 0n) {
      throw new UsageError(`version must be a bigint from read(), 0n for an absent cell, given ${shown(version)}`)
    }
    const change = { version, next, ttlMs: this.#ttlMs, nonce: this.#core.runtime.randomId() }
    const { view, doubted } = await this.#ask(() => this.#core.driver.swap(this.key, change))
    if (view.nonce === change.nonce) return view
    if (!doubted) return null
    // The first request got no answer, and the cell has changed since. Either somebody overwrote our value, or it was
    // never written.
    throw new OutcomeUnknownError(
      `cell ${JSON.stringify(this.key)}: a write got no answer, and others have written since; read it again`,
      { line: this.key },
    )
  }

  /** Asks until there is an answer; the nonce makes that safe. `doubted`: an earlier try may have taken effect. */
  async #ask(request: () => Promise<CellView>): Promise<{ readonly view: CellView; readonly doubted: boolean }> {
    const { runtime, connectTimeoutMs } = this.#core
    const until = runtime.now() + connectTimeoutMs
    for (let doubted = false, pauseMs = 20; ; doubted = true, pauseMs = Math.min(pauseMs * 2, 500)) {
      try {
        return { view: await request(), doubted }
      } catch (error) {
        if (!(error instanceof StoreUnreachableError) || runtime.now() >= until) throw error
      }
      await pause(runtime, pauseMs * (0.5 + runtime.random()))
    }
  }

  #encode(value: T): string {
    const text: string | undefined = JSON.stringify(value)
    if (text === undefined) throw new UsageError(`a cell's value must be JSON, given ${shown(value)}`)
    if (Buffer.byteLength(text) > VALUE_BYTES_MAX) {
      throw new UsageError(`a cell's value must be at most ${VALUE_BYTES_MAX} bytes of JSON, given ${text.length}`)
    }
    return text
  }

  #parse(view: CellView): Versioned<T> {
    try {
      return { value: view.value === null ? undefined : (JSON.parse(view.value) as T), version: view.version }
    } catch (cause) {
      const message = `cell ${JSON.stringify(this.key)} holds no JSON: another program wrote it; remove it`
      throw new StoreError(message, { line: this.key, cause })
    }
  }
}
