/** Signals sent to `run` or `elect`. While no program runs they end the wait; otherwise they go to the program. */
import { signalGroup } from './group.ts'

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
/** Signals meant for the program, which mean nothing to `run`. */
const PASSED = ['SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const

/** The reason of the abort when a signal ends the wait for the lock. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`)
    this.name = 'Interrupted'
    this.signal = signal
  }
}

export class Signals {
  readonly #controller = new AbortController()
  /** Signals that came while the program was being started. */
  readonly #early: NodeJS.Signals[] = []
  #pid: number | null = null
  #starting = false
  #passes = false
  #hasEnding = false

  constructor() {
    for (const signal of ENDING) process.on(signal, () => this.#came(signal))
  }

  /** Aborts with an `Interrupted` when a signal comes while no program runs. */
  get interrupt(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether a signal has ever asked us to end the wait or the program. */
  get hasEnding(): boolean {
    return this.#hasEnding
  }

  /** From now on signals go to the program. */
  passOn(): void {
    this.#starting = true
    if (this.#passes) return
    this.#passes = true
    for (const signal of [...PASSED, 'SIGTSTP', 'SIGCONT'] as const) process.on(signal, () => this.#came(signal))
  }

  /** The program's group has this number. */
  attach(pid: number): void {
    this.#pid = pid
    for (const signal of this.#early.splice(0)) this.#passOn(pid, signal)
  }

  /** The program has ended: from now on signals are ours again. */
  detach(): void {
    this.#pid = null
    this.#starting = false
    this.#early.length = 0
  }

  #came(signal: NodeJS.Signals): void {
    const isEnding = (ENDING as readonly string[]).includes(signal)
    this.#hasEnding ||= isEnding
    if (this.#pid !== null) this.#passOn(this.#pid, signal)
    else if (this.#starting) this.#early.push(signal)
    else if (isEnding) this.#controller.abort(new Interrupted(signal))
    // Ctrl-Z while no program runs: stop as if there were no listener.
    else if (signal === 'SIGTSTP') process.kill(process.pid, 'SIGSTOP')
  }

  #passOn(pid: number, signal: NodeJS.Signals): void {
    if (signal === 'SIGTSTP') this.#suspend(pid)
    else signalGroup(pid, signal)
  }

  /**
   * Ctrl-Z: first the program stops, then `run`. A group without a terminal ignores TSTP by default, hence STOP. Nobody
   * renews the lease meanwhile. If nobody continues the program in time, its guardian kills it.
   */
  #suspend(pid: number): void {
    signalGroup(pid, 'SIGTSTP')
    signalGroup(pid, 'SIGSTOP')
    process.kill(process.pid, 'SIGSTOP')
  }
}
