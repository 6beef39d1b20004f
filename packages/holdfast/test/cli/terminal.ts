/** What the tests of the command line do in place of a person: type commands, watch, send signals. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach } from 'vitest'

/** Built by `npm run build`, as it is shipped. */
const MAIN = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url))
const PATIENCE_MS = 30_000
const LOOK_MS = 10

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

/** A command that runs. */
export class Running {
  readonly #process: ChildProcess
  readonly exit: Promise<Exit>
  out = ''
  err = ''

  constructor(process: ChildProcess) {
    this.#process = process
    process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text
    })
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text
    })
    this.exit = new Promise((resolve, reject) => {
      process.once('error', reject)
      process.once('close', (code, signal) => resolve({ code, signal, out: this.out, err: this.err }))
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  get hasExited(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  type(text: string): void {
    this.#process.stdin?.end(text)
  }
}

/** A folder with a store of its own. What was started in it is ended with the test. */
export class Terminal {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  readonly store: string = `sqlite:${join(this.folder, 'locks.db')}`
  readonly #running: Running[] = []

  constructor() {
    afterEach(() => this.#endAll())
    afterAll(() => rmSync(this.folder, { recursive: true, force: true }))
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  /** Starts `holdfast` with these arguments. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const running = new Running(
      spawn(process.execPath, [MAIN, ...args], {
        cwd: this.folder,
        env: { ...process.env, HOLDFAST_STORE: this.store, HOLDFAST_DEBUG: '', ...env },
        stdio: 'pipe',
      }),
    )
    this.#running.push(running)
    return running
  }

  /** Runs `holdfast` to its end. */
  holdfast(...args: string[]): Promise<Exit> {
    return this.start(args).exit
  }

  /** Starts a shell script under `holdfast run` with these arguments. */
  script(args: readonly string[], script: string, env: NodeJS.ProcessEnv = {}): Running {
    return this.start(['run', ...args, '--', 'sh', '-c', script], env)
  }

  /** How many stand in a line without holding it. */
  async waiters(line: string): Promise<number> {
    const { out } = await this.holdfast('show', line, '--json')
    return (JSON.parse(out) as { waiters: unknown[] }).waiters.length
  }

  read(name: string): string {
    try {
      return readFileSync(this.path(name), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
      throw error
    }
  }

  async #endAll(): Promise<void> {
    const alive = this.#running.splice(0).filter((running) => !running.hasExited)
    for (const running of alive) {
      running.kill('SIGCONT')
      running.kill('SIGTERM')
    }
    await Promise.all(alive.map((running) => running.exit))
  }
}

/** Waits for a condition; fails the test when it does not come about. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited ${PATIENCE_MS} ms for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/**
 * Runs a program whose lock is broken, and which says "told" when it is asked to end. It has a short grace; on a
 * machine so busy that it does not get to say so, a longer one. Tells how it ended; a file named as the line has its
 * group.
 */
export async function broken(terminal: Terminal, line: string, meanwhile = (_run: Running): void => {}): Promise<Exit> {
  const script = `trap 'echo told' TERM; (trap '' TERM; sleep 600) & while :; do sleep 0.01; done`
  for (let graceMs = 300; ; graceMs *= 30) {
    const run = terminal.script([line, '--grace', `${graceMs}ms`], `echo $$ > ${line}.pid; echo ready; ${script}`)
    await until('it is ready', () => run.out.includes('ready'))
    meanwhile(run)
    await terminal.holdfast('break', line, '--yes', '--now')
    const exit = await run.exit
    if (exit.out.includes('told') || graceMs > 300) return exit
  }
}

/** The only child of `run`. */
export function guardianOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim())
}

/**
 * A shell script that writes its mark to a file again and again for as long as it acts.
 * With `beats` 0 it never ends by itself.
 */
export function acts(file: string, mark: string, beats: number): string {
  const again = beats === 0 ? 'true' : `[ $i -lt ${beats} ]`
  return `i=0; while ${again}; do echo "${mark} $$" >> ${file}; i=$((i+1)); sleep 0.01; done`
}

/** The marks in the order in which they first appear; fails if one of them acts again after another has begun. */
export function turns(log: string): string[] {
  const marks = log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' ')[0] as string)
  const order = marks.filter((mark, i) => mark !== marks[i - 1])
  if (new Set(order).size !== order.length) throw new Error(`two acted at the same time: ${order.join(' ')}`)
  return order
}
