/** A child process with a client in it, and the messages between the two. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { programBeside } from '../src/program.ts'
import { type Rig, within } from './rig.ts'

export type Order =
  | {
      readonly kind: 'hold'
      readonly line: string
      readonly ttlMs: number
      readonly minHoldMs?: number
      readonly acts?: boolean
      /** How the process ends while it holds the lock: by exit, or because it has nothing left to do. */
      readonly thenEnd?: 'exit' | 'fall off'
    }
  /** Holds, and blocks its event loop. */
  | { readonly kind: 'block'; readonly line: string; readonly ttlMs: number; readonly blockMs: number }
  /** Holds `times` times, and writes each token into the file `diary` while it holds. */
  | {
      readonly kind: 'visit'
      readonly line: string
      readonly times: number
      readonly fairness: 'local' | 'strict'
      readonly diary: string
    }

export type Report =
  | { readonly kind: 'ready' | 'done' }
  | { readonly kind: 'held'; readonly token: string }
  | { readonly kind: 'effect'; readonly token: string }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unblocked'; readonly state: string }
  | { readonly kind: 'failed'; readonly error: string }

/** The built program. If the suite runs from source, the program is in build. */
const PROGRAM = import.meta.url.endsWith('.ts')
  ? new URL('../build/conformance/client.js', import.meta.url)
  : programBeside(import.meta.url, 'client')

export class Errand {
  readonly reports: Report[] = []
  readonly exited: Promise<number | null>
  readonly #child: ChildProcess
  readonly #listeners = new Set<() => void>()

  private constructor(child: ChildProcess) {
    this.#child = child
    this.exited = new Promise((resolve) => child.once('exit', (code) => resolve(code)))
    child.on('message', (report: Report) => {
      this.reports.push(report)
      for (const listener of this.#listeners) listener()
    })
  }

  static async start(rig: Rig): Promise<Errand> {
    const { module, config } = rig.store
    const args = [module.href, JSON.stringify(config ?? null)]
    const errand = new Errand(fork(fileURLToPath(PROGRAM), args, { execArgv: [] }))
    rig.onClose(async () => {
      errand.signal('SIGKILL')
      await errand.exited
    })
    await errand.told('ready')
    return errand
  }

  order(order: Order): void {
    this.#child.send(order)
  }

  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    const { pid, exitCode, signalCode } = this.#child
    // Not by the child's own kill(): Deno sends one signal by it, and no other after that.
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(pid, signal)
  }

  /** The first report of that kind after the given number of reports. */
  told<K extends Report['kind']>(kind: K, after = 0): Promise<Extract<Report, { kind: K }>> {
    const found = new Promise<Extract<Report, { kind: K }>>((resolve, reject) => {
      const look = (): void => {
        for (const report of this.reports.slice(after)) {
          if (report.kind === 'failed') reject(new Error(`a client process failed: ${report.error}`))
          else if (report.kind === kind) resolve(report as Extract<Report, { kind: K }>)
          else continue
          this.#listeners.delete(look)
          return
        }
      }
      this.#listeners.add(look)
      look()
      void this.exited.then((code) => reject(new Error(`a client process ended (${code}) before it told "${kind}"`)))
    })
    return within(`a client process tells "${kind}"`, found)
  }
}
