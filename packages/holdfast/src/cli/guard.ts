/** `run`'s side of its guardian: starts it, gives it orders, and hears how the program ends. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { groupGone, signalGroup } from './group.ts'
import type { Order, Report, Start } from './orders.ts'

/** How the program ended. */
export type Ending =
  | Extract<Report, { readonly kind: 'refused' | 'ended' }>
  /** The guardian was killed; the program was killed after it. */
  | { readonly kind: 'unguarded' }

export interface GuardListener {
  /** The program runs; its group has this number. */
  started(pid: number): void
  /** The lease ends unrenewed, and the program is being stopped. */
  expiring(): void
}

const BURIAL_MS = 2_000

export class Guard {
  readonly #process: ChildProcess
  #listener: GuardListener | null = null
  #pid: number | null = null
  #settle: ((ending: Ending) => void) | null = null

  /** Starts the guardian while `run` still waits for the lock: it is ready when the lock is there. */
  constructor() {
    // Its own session: Ctrl-C in the terminal reaches `run`, which decides, and not the guardian.
    this.#process = fork(fileURLToPath(new URL('./guardian.js', import.meta.url)), {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true,
      execArgv: [],
    })
    this.#process.on('message', (report: Report) => this.#heard(report))
    this.#process.on('error', (error) => this.#gone(error))
    this.#process.on('exit', () => this.#gone(null))
  }

  /** The guardian lives as long as anything of the program does. */
  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Runs the program; settles when it has ended. */
  run(start: Start, listener: GuardListener): Promise<Ending> {
    this.#listener = listener
    return new Promise((resolve) => {
      this.#settle = resolve
      if (this.#process.exitCode !== null || this.#process.signalCode !== null) this.#gone(null)
      else this.#order({ kind: 'start', start })
    })
  }

  /** The lease now ends at this instant of `bootMs`. */
  extend(leaseUntilMs: number): void {
    this.#order({ kind: 'lease', leaseUntilMs })
  }

  stop(): void {
    this.#order({ kind: 'stop' })
  }

  /** There is nothing to guard. */
  dismiss(): void {
    if (this.#process.connected) this.#process.disconnect()
  }

  #order(order: Order): void {
    // What can't be delivered is told by 'exit', which ends the program as well.
    if (this.#process.connected) this.#process.send(order, () => undefined)
  }

  #heard(report: Report): void {
    switch (report.kind) {
      case 'started':
        this.#pid = report.pid
        this.#listener?.started(report.pid)
        break
      case 'expiring':
        this.#listener?.expiring()
        break
      case 'refused':
      case 'ended':
        this.#end(report)
        break
    }
  }

  /** Without a guardian the program would survive the death of `run`: it is ended with it. */
  #gone(_error: Error | null): void {
    const pid = this.#pid
    if (pid === null || this.#settle === null) {
      this.#end({ kind: 'unguarded' })
      return
    }
    signalGroup(pid, 'SIGKILL')
    void groupGone(pid, BURIAL_MS).then(() => this.#end({ kind: 'unguarded' }))
  }

  #end(ending: Ending): void {
    this.#settle?.(ending)
    this.#settle = null
  }
}
