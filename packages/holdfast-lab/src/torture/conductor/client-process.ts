/** One client process as the conductor sees it. After each death another process takes its place. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { FaultProxy } from '../../testbed/proxy.ts'
import type { Cable } from '../backend/cable.ts'
import type { Clock } from '../backend/clock.ts'
import { BIRTH, type Birth, type Order } from '../client/order.ts'
import { micros } from '../history/clock.ts'
import type { ExitEvent } from '../history/event.ts'
import type { Recorder } from '../history/recorder.ts'
import type { ClientTarget } from '../nemesis/field.ts'
import type { Household } from './household.ts'
import { program } from '../../program.ts'

export interface Upbringing {
  readonly name: string
  readonly birth: Omit<Birth, 'p' | 'history'>
  readonly gates: readonly FaultProxy[]
  readonly cable: Cable | null
  /** The wall clock that it goes by, in all its lives. */
  readonly clock: Clock
  /** The folder for all parts of the history. */
  readonly household: Household
  readonly recorder: Recorder
}

const WORDS_MAX = 2_000

export class ClientProcess implements ClientTarget {
  readonly gates: readonly FaultProxy[]
  readonly cable: Cable | null
  readonly #upbringing: Upbringing
  #child: ChildProcess | null = null
  #lives = 0
  #isPaused = false
  /** True: we have ended the process. */
  #expected = false
  #words = ''

  constructor(upbringing: Upbringing) {
    this.#upbringing = upbringing
    this.gates = upbringing.gates
    this.cable = upbringing.cable
  }

  get p(): string {
    const { name } = this.#upbringing
    return this.#lives <= 1 ? name : `${name}.${this.#lives - 1}`
  }

  get isAlive(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /**
   * Starts it; resolves once it serves, or has ended, or after `withinMs`: a store that is down may keep it waiting.
   */
  async start(withinMs: number): Promise<void> {
    const { birth, household } = this.#upbringing
    this.#lives += 1
    this.#expected = false
    this.#words = ''
    const { p } = this
    const whole: Birth = { ...birth, p, history: join(household.folder, `${p}.jsonl`) }
    const [execPath, ...execArgv] = [...(this.cable?.entrance ?? []), process.execPath]
    const child = fork(program('torture/client/main'), [], {
      execPath,
      execArgv,
      env: { ...process.env, ...this.#upbringing.clock.env, [BIRTH]: JSON.stringify(whole) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child = child
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(-WORDS_MAX)
    })
    child.on('error', () => undefined)
    child.on('close', (code, signal) => {
      if (this.#expected) return
      const said = this.#words.trim().split('\n').slice(-6).join(' | ')
      this.#exit(p, 'crashed', `${signal ?? `exit code ${code}`} ${said}`)
    })
    if (child.pid !== undefined) await household.take(child.pid)
    const limit = AbortSignal.timeout(withinMs)
    try {
      await Promise.race([once(child, 'message', { signal: limit }), once(child, 'exit', { signal: limit })])
    } catch (error) {
      if (!limit.aborted) throw error
    }
  }

  pause(): void {
    this.#isPaused = this.#child?.kill('SIGSTOP') ?? false
  }

  resume(): void {
    this.#isPaused = false
    this.#child?.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    if (!this.isAlive) return
    this.#expected = true
    // Stamped before the signal, so that the process does nothing after this stamp.
    this.#exit(this.p, 'killed')
    await this.#end()
  }

  async revive(): Promise<void> {
    if (!this.isAlive) await this.start(2_000)
  }

  block(ms: number): void {
    this.#order({ order: 'block', ms })
  }

  setClock(offsetMs: number): Promise<void> {
    return this.#upbringing.clock.set(offsetMs)
  }

  /** Tells the process to stop, and waits; kills it if it does not stop. */
  async stop(withinMs: number): Promise<void> {
    const child = this.#child
    if (child === null || !this.isAlive) return
    if (this.#isPaused) this.resume()
    this.#expected = true
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
    this.#order({ order: 'stop' })
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), withinMs)
    })
    const outcome = await Promise.race([exited, late])
    clearTimeout(timer)
    if (outcome === 'late') {
      this.#exit(this.p, 'stuck', `not within ${withinMs} ms`)
      await this.#end()
    } else if (outcome === 0) this.#exit(this.p, 'stopped')
    else this.#exit(this.p, 'crashed', `exit code ${outcome} ${this.#words.trim().split('\n').slice(-6).join(' | ')}`)
  }

  /** For the end of the run, whatever came of it. */
  destroy(): void {
    this.#expected = true
    this.#child?.kill('SIGKILL')
  }

  async #end(): Promise<void> {
    const child = this.#child
    if (child === null || !this.isAlive) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  #order(order: Order): void {
    // One that has just died is told of by its exit.
    this.#child?.send(order, () => undefined)
  }

  #exit(p: string, how: ExitEvent['how'], detail?: string): void {
    this.#upbringing.recorder.record({ e: 'exit', t: micros(), p, how, ...(detail === undefined ? {} : { detail }) })
  }
}
