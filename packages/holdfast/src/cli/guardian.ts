/**
 * The process between `holdfast run` and the program. It starts the program, and makes sure that the program does not
 * go on without the lock. `run` may be killed with -9 (the channel closes) or be stopped past its lease (the lease ends
 * unrenewed); in both cases only another process can still act.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { askToEnd, groupGone, signalGroup } from './group.ts'
import { Notice } from './notice.ts'
import { bootMs, type Order, type Report, type Start } from './orders.ts'

/** How long a killed group may take to be gone. */
const BURIAL_MS = 2_000

class Guardian {
  #start: Start | null = null
  #child: ChildProcess | null = null
  #notice: Notice | null = null
  #killTimer: NodeJS.Timeout | undefined
  #stopping = false

  obey(order: Order): void {
    switch (order.kind) {
      case 'start':
        this.#run(order.start)
        break
      case 'lease':
        this.#notice?.extend(order.leaseUntilMs)
        break
      case 'stop':
        this.#stop(this.#start?.graceMs ?? 0)
        break
    }
  }

  /**
   * `run` is gone, and nobody renews the lease any more. The program has until the end of the lease, at most the grace.
   */
  orphaned(): void {
    if (this.#child === null) process.exit(0)
    this.#stop(Math.min(this.#start?.graceMs ?? 0, this.#notice?.leftMs ?? 0))
  }

  #run(start: Start): void {
    this.#start = start
    if (bootMs() >= start.leaseUntilMs) {
      // `run` or the guardian was paused between the grant and this line, and the next holder may be at work by now.
      this.#report({ kind: 'expiring' })
      this.#end({ kind: 'refused', code: 'ETIME' })
      return
    }
    // A group of its own, so that the guardian can stop all that the program starts.
    const child = spawn(start.file, start.args, {
      stdio: 'inherit',
      detached: true,
      env: { ...process.env, ...start.env },
    })
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) this.#end({ kind: 'refused', code: error.code ?? error.message })
    })
    child.once('exit', (code, signal) => void this.#exited(child, code, signal))
    if (child.pid === undefined) return
    this.#child = child
    this.#report({ kind: 'started', pid: child.pid })
    // Tell the program early enough to be gone when the lease ends, because the next holder begins at that moment.
    this.#notice = new Notice(start.leaseUntilMs, start.noticeMs, (leftMs) => {
      this.#report({ kind: 'expiring' })
      this.#stop(leftMs)
    })
  }

  #stop(graceMs: number): void {
    const pid = this.#child?.pid
    if (pid === undefined || this.#stopping) return
    this.#stopping = true
    this.#notice?.cancel()
    askToEnd(pid)
    this.#report({ kind: 'stopping' })
    this.#killTimer = setTimeout(() => signalGroup(pid, 'SIGKILL'), Math.max(0, graceMs))
  }

  async #exited(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    // The program has ended, but what it started may go on, and must stop as well.
    if (this.#stopping && child.pid !== undefined) {
      await groupGone(child.pid, (this.#start?.graceMs ?? 0) + BURIAL_MS)
    }
    this.#notice?.cancel()
    clearTimeout(this.#killTimer)
    this.#end({ kind: 'ended', code, signal })
  }

  #report(report: Report, sent?: () => void): void {
    if (process.connected) process.send?.(report, undefined, undefined, () => sent?.())
    else sent?.()
  }

  #end(report: Report): void {
    this.#report(report, () => process.exit(0))
  }
}

process.title = 'holdfast-guardian'
// A service manager tells every process of a service to end. The guardian ends after the program.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => undefined)
const guardian = new Guardian()
process.on('message', (order: Order) => guardian.obey(order))
process.on('disconnect', () => guardian.orphaned())
