/** `run`'s side of its guardian: starts it, gives it orders, and hears how the program ends. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { programBeside } from '../program.ts'
import { askToEnd, groupGone, signalGroup } from './group.ts'
import { Notice } from './notice.ts'
import type { Order, Report, Start } from './orders.ts'

/** How the program ended. */
export type Ending =
  | Extract<Report, { readonly kind: 'refused' | 'ended' }>
  /** The guardian was killed, or gave no sign of life when the program had to stop; the program was killed. */
  | { readonly kind: 'unguarded' }

export interface GuardListener {
  /** The program runs; its group has this number. */
  started(pid: number): void
  /** The lease ends unrenewed, and the program is being stopped. */
  expiring(): void
}

const BURIAL_MS = 2_000
/** How long the guardian may take to report that it has told the program to stop. */
const ANSWER_MS = 100

export class Guard {
  readonly #process: ChildProcess
  #listener: GuardListener | null = null
  #pid: number | null = null
  #settle: ((ending: Ending) => void) | null = null
  #start: Start | null = null
  #notice: Notice | null = null
  /** Whether the guardian or we have told the program to stop. */
  #isTold = false
  #isStopping = false
  readonly #timers: NodeJS.Timeout[] = []

  /** Starts the guardian while `run` still waits for the lock: then it is ready when the lock is there. */
  constructor() {
    // In a session of its own: Ctrl-C in the terminal then reaches `run`, which decides, and not the guardian.
    this.#process = fork(fileURLToPath(programBeside(import.meta.url, 'guardian')), {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true,
      execArgv: [],
    })
    this.#process.on('message', (report: Report) => this.#heard(report))
    this.#process.on('error', (error) => this.#gone(error))
    this.#process.on('exit', () => this.#gone(null))
  }

  /** The guardian lives as long as any process of the program. */
  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Runs the program; settles when it has ended. */
  run(start: Start, listener: GuardListener): Promise<Ending> {
    this.#listener = listener
    this.#start = start
    // The guardian acts first. If the guardian is stopped, only we can end the program before the lease ends.
    this.#notice = new Notice(start.leaseUntilMs, start.noticeMs / 2, (leftMs) => {
      listener.expiring()
      this.#stop(leftMs)
    })
    return new Promise((resolve) => {
      this.#settle = resolve
      if (this.#process.exitCode !== null || this.#process.signalCode !== null) this.#gone(null)
      else this.#order({ kind: 'start', start })
    })
  }

  /** The lease now ends at this instant of `bootMs`. */
  extend(leaseUntilMs: number): void {
    this.#notice?.extend(leaseUntilMs)
    this.#order({ kind: 'lease', leaseUntilMs })
  }

  /** The lock is lost: the program has the grace, and not a moment longer. */
  stop(): void {
    this.#stop(this.#start?.graceMs ?? 0)
  }

  /** There is nothing to guard. */
  dismiss(): void {
    if (this.#process.connected) this.#process.disconnect()
  }

  /**
   * The guardian stops the program. But the guardian may be stopped itself (kill -STOP), and the program would go on
   * all that time, beside the next holder. So whatever the guardian does not do in time is done here.
   */
  #stop(graceMs: number): void {
    if (this.#isStopping || this.#settle === null) return
    this.#isStopping = true
    this.#notice?.cancel()
    this.#order({ kind: 'stop' })
    const tell = (): void => {
      if (!this.#isTold && this.#pid !== null) askToEnd(this.#pid)
    }
    const kill = (): void => {
      if (this.#pid !== null) signalGroup(this.#pid, 'SIGKILL')
    }
    // A guardian that lives reports how the program ended. A guardian that does not must not start the program later.
    const giveUp = (): void => void this.#process.kill('SIGKILL')
    const endMs = Math.max(0, graceMs)
    this.#timers.push(
      setTimeout(tell, Math.min(ANSWER_MS, endMs / 2)),
      setTimeout(kill, endMs),
      setTimeout(giveUp, endMs + BURIAL_MS),
    )
  }

  #order(order: Order): void {
    // If an order can't be delivered, 'exit' follows, which ends the program as well.
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
      case 'stopping':
        this.#isTold = true
        break
      case 'refused':
      case 'ended':
        this.#end(report)
        break
    }
  }

  /** Without a guardian the program would survive the death of `run`, so it ends with its guardian. */
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
    this.#notice?.cancel()
    for (const timer of this.#timers.splice(0)) clearTimeout(timer)
    this.#settle?.(ending)
    this.#settle = null
  }
}
