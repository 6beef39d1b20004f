/** The referee as the conductor sees it. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Notice } from '../referee/messages.ts'
import { program } from '../../program.ts'

export class Referee {
  /**
   * The path of the socket that it serves: networks have no part in it, so that whoever is cut off from the store still
   * reaches what it protects.
   */
  readonly socket: string
  /** How many visits have come in so far. */
  entered = 0
  /** How often somebody acted between the steps of another, who should have been alone. */
  crowded = 0
  /** Set if the referee ended too early; a run without a referee proves nothing. */
  problem: string | null = null
  #ending = false
  readonly #child: ChildProcess
  /** Who is inside, by line. */
  readonly #inside = new Map<string, string[]>()
  readonly #waiting = new Set<() => void>()

  private constructor(child: ChildProcess, socket: string) {
    this.#child = child
    this.socket = socket
    child.on('message', (notice: Notice) => this.#hear(notice))
    child.on('exit', (code, signal) => {
      if (!this.#ending) this.problem = `the referee ended by itself: ${signal ?? `exit code ${code}`}`
    })
  }

  /** Its part of the history and its socket are in `folder`. */
  static async start(folder: string): Promise<Referee> {
    const socket = join(folder, 'referee.sock')
    const child = fork(program('torture/referee/main'), [join(folder, 'referee.jsonl'), socket], { execArgv: [] })
    const ended = new AbortController()
    const exited = once(child, 'exit', ended).then(([code]) => {
      throw new Error(`the referee could not serve ${socket} (exit code ${String(code)})`)
    })
    await Promise.race([once(child, 'message', ended), exited])
    ended.abort()
    return new Referee(child, socket)
  }

  /** The processes that are inside of any line now, with the line. */
  inside(): { readonly line: string; readonly p: string }[] {
    return [...this.#inside].flatMap(([line, list]) => list.map((p) => ({ line, p })))
  }

  /** Resolves at the next notice, or after `ms`. */
  change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#waiting.add(done)
    })
  }

  async end(): Promise<void> {
    this.#ending = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }

  #hear(notice: Notice): void {
    if (notice.tell === 'listening') return
    if (notice.tell === 'crowded') {
      this.crowded += 1
      return
    }
    const { line, p } = notice
    const list = this.#inside.get(line) ?? []
    if (notice.tell === 'entered') {
      this.entered += 1
      list.push(p)
    } else {
      const at = list.indexOf(p)
      if (at >= 0) list.splice(at, 1)
    }
    this.#inside.set(line, list)
    for (const wake of [...this.#waiting]) wake()
  }
}
