/** The children of a measurement: each a process of its own with one adapter open. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CHILD = new URL('./child.js', import.meta.url)
/** @typedef {{ id: number, result?: unknown, error?: string }} Reply */

const JOB_MS_MAX = 180_000
/** A million held locks are a gigabyte, and more with a store in memory. */
const EXEC_ARGV = ['--expose-gc', '--no-warnings', '--max-old-space-size=6144']

/** One child. If the child does not answer a job, because it died or hangs, the error says so. */
export class Child {
  #process
  #nextId = 0
  /** @type {Map<number, { resolve(value: unknown): void, reject(error: Error): void }>} */
  #jobs = new Map()

  constructor() {
    this.#process = fork(CHILD, [], { serialization: 'advanced', execArgv: EXEC_ARGV })
    this.#process.on('message', (message) => this.#settle(/** @type {Reply} */ (message)))
    this.#process.on('error', (error) => this.#fail(error))
    this.#process.on('exit', (code, signal) => this.#fail(new Error(`a child ended early (${signal ?? code})`)))
  }

  /**
   * @template T
   * @param {string} job file and function in jobs/, such as 'uncontended.measure'
   * @param {unknown} params
   * @param {number} [limitMs]
   * @returns {Promise<T>}
   */
  perform(job, params, limitMs = JOB_MS_MAX) {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#settle({ id, error: `${job} has not ended after ${limitMs / 1_000} s` })
      }, limitMs)
      this.#jobs.set(id, {
        resolve(value) {
          clearTimeout(timer)
          resolve(/** @type {T} */ (value))
        },
        reject(error) {
          clearTimeout(timer)
          reject(error)
        },
      })
      this.#process.send({ id, job, params }, (error) => error && this.#fail(error))
    })
  }

  /** @param {NodeJS.Signals} signal */
  kill(signal) {
    this.#process.kill(signal)
  }

  /** Ends the child without asking: what it holds goes with the measurement's folder. */
  async end() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }

  /** @param {Reply} reply */
  #settle({ id, result, error }) {
    const job = this.#jobs.get(id)
    this.#jobs.delete(id)
    if (error === undefined) job?.resolve(result)
    else job?.reject(new Error(error))
  }

  /** @param {Error} error */
  #fail(error) {
    for (const job of this.#jobs.values()) job.reject(error)
    this.#jobs.clear()
  }
}

/** All children of one measurement, and its folder. At the end both are removed. */
export class Crew {
  /** @type {Set<Child>} */
  #children = new Set()
  #config
  #adapter

  /** @param {string} adapter @param {import('./adapter.ts').Config} config */
  constructor(adapter, config) {
    this.#adapter = adapter
    this.#config = config
  }

  /** @param {Partial<import('./adapter.ts').Config>} [also] */
  async hire(also) {
    const child = new Child()
    this.#children.add(child)
    await child.perform('open', { adapter: this.#adapter, config: { ...this.#config, ...also } })
    return child
  }

  /** @param {Child} child */
  async dismiss(child) {
    this.#children.delete(child)
    await child.end()
  }

  /**
   * @template T
   * @param {import('./adapter.ts').Adapter} adapter
   * @param {import('./scenario.ts').Store} store
   * @param {Pick<import('./adapter.ts').Config, 'ttlMs' | 'counting'>} config
   * @param {(crew: Crew) => Promise<T>} work
   */
  static async with(adapter, store, config, work) {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
    const crew = new Crew(adapter.name, { url: store.url.replace('{folder}', folder), folder, ...config })
    try {
      return await work(crew)
    } finally {
      await Promise.all([...crew.#children].map((child) => child.end()))
      await rm(folder, { recursive: true, force: true })
    }
  }
}
