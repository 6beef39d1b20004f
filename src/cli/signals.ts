/** Signals sent to `run`: before the program runs they end the wait, afterwards they are the program's. */
import { signalGroup } from './group.ts'

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
/** Meant for the program, and without meaning for `run`. */
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
  /** Those that came while the program was being started. */
  readonly #early: NodeJS.Signals[] = []
  #pid: number | null = null
  #starting = false

  constructor() {
    for (const signal of ENDING) process.on(signal, () => this.#came(signal))
  }

  /** Aborts with an `Interrupted` when a signal comes before the program is started. */
  get interrupt(): AbortSignal {
    return this.#controller.signal
  }

  /** From now on signals are the program's. */
  passOn(): void {
    this.#starting = true
    for (const signal of PASSED) process.on(signal, () => this.#came(signal))
    process.on('SIGTSTP', () => this.#came('SIGTSTP'))
    process.on('SIGCONT', () => this.#came('SIGCONT'))
  }

  /** The program's group has this number. */
  attach(pid: number): void {
    this.#pid = pid
    for (const signal of this.#early.splice(0)) this.#passOn(pid, signal)
  }

  #came(signal: NodeJS.Signals): void {
    if (this.#pid !== null) this.#passOn(this.#pid, signal)
    else if (this.#starting) this.#early.push(signal)
    else this.#controller.abort(new Interrupted(signal))
  }

  #passOn(pid: number, signal: NodeJS.Signals): void {
    if (signal === 'SIGTSTP') this.#suspend(pid)
    else signalGroup(pid, signal)
  }

  /**
   * Ctrl-Z: the program stops, then `run` does. A group without a terminal ignores TSTP by default, hence STOP. Nobody
   * renews the lease meanwhile: unless continued in time, the program is stopped for good, by its guardian.
   */
  #suspend(pid: number): void {
    signalGroup(pid, 'SIGTSTP')
    signalGroup(pid, 'SIGSTOP')
    process.kill(process.pid, 'SIGSTOP')
  }
}
