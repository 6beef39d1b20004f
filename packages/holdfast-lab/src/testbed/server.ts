/** One started server process: its life, its pauses and its deaths. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, open, rm } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isErrno } from './errno.ts'
import { TestbedError } from './error.ts'
import type { Janitor } from './janitor.ts'
import { descendants, isAlive, isStopped, processEntry, type ProcessEntry, signalProcess } from './proc.ts'
import { until } from './until.ts'
import { give, type User } from './user.ts'

/** How one kind of server is made; the process that follows from it is a `Server`. */
export interface Recipe {
  readonly name: string
  readonly port: number
  readonly url: string
  /** The server's own folder: `data/`, `log`, and what the recipe puts there. */
  readonly dir: string
  readonly command: readonly [file: string, ...args: string[]]
  readonly env?: Readonly<Record<string, string>>
  /** Who it runs as and who owns `data/`; null: we. */
  readonly user?: User | null
  /** Fills an empty `data/`, as initdb does. */
  readonly fill?: (data: string) => Promise<void>
  /** One protocol-level exchange; rejects while the server is not ready. */
  readonly ask: () => Promise<void>
  /** Its polite end; default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals
  /**
   * It leaves something outside of its folder unless it ends in order, as PostgreSQL does shared memory; default false.
   */
  readonly untidy?: boolean
}

/**
 * Waits for one line before it becomes the server: by then the guardian knows the pid, which exec keeps. Without it: we
 * are killed between spawn and record, and the server lives for ever.
 */
const GATE = 'read -r go || exit 1; exec "$@" </dev/null'

export class Server {
  readonly name: string
  readonly port: number
  /** What a client is given, in the form of Holdfast's store URLs. */
  readonly url: string
  readonly dir: string
  readonly data: string
  readonly #recipe: Recipe
  readonly #janitor: Janitor
  readonly #everywhere: Readonly<Record<string, string>>
  /** What is started instead of the recipe's own program. */
  #newer: { readonly program: string; readonly args: readonly string[] } | null = null
  #child: ChildProcess | undefined
  #entry: ProcessEntry | undefined
  #starting: Promise<void> = Promise.resolve()
  #retired = false

  constructor(recipe: Recipe, janitor: Janitor, everywhere: Readonly<Record<string, string>> = {}) {
    this.name = recipe.name
    this.port = recipe.port
    this.url = recipe.url
    this.dir = recipe.dir
    this.data = join(recipe.dir, 'data')
    this.#recipe = recipe
    this.#janitor = janitor
    this.#everywhere = everywhere
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Of the process that runs now, or ran last. */
  get pid(): number {
    if (this.#entry === undefined) throw new TestbedError(`${this.name} was never started`)
    return this.#entry.pid
  }

  /** From its next start on it is another version: this program, with all old arguments and these, on the same data. */
  upgradeTo(program: string, args: readonly string[] = []): void {
    this.#newer = { program, args }
  }

  /** Starts the process on the data there are (made if there are none) and waits until it serves; default 30 000 ms. */
  start(withinMs?: number): Promise<void> {
    const starting = this.#start(withinMs)
    // The caller has the outcome; whoever stops the server only waits for the end of its start.
    const ended = (): void => {}
    this.#starting = starting.then(ended, ended)
    return starting
  }

  /**
   * Resolves once the server answers a question of its protocol; default within 30 000 ms. Fails with the end of its
   * log.
   */
  ready(withinMs?: number): Promise<void> {
    return until(this.#recipe.ask, {
      what: `${this.name} (port ${this.port}) should serve`,
      withinMs,
      hopeless: () => (this.running ? null : `it is not running (${this.#lastWords()})`),
      detail: () => this.#tail(),
    })
  }

  /** Ends it in order; after `graceMs` (default 10 000) by force. */
  async stop(graceMs = 10_000): Promise<void> {
    const { child, entry } = this.#live() ?? {}
    if (child === undefined || entry === undefined) return
    signalProcess(entry, this.#recipe.stopSignal ?? 'SIGTERM')
    this.resume()
    child.ref()
    if (!(await exitedWithin(child, graceMs))) await this.kill()
  }

  /**
   * Ends it for good, a start that is under way included; no other will follow. By force where that leaves nothing
   * behind: the leader of an etcd cluster, told to stop together with the others, spends many seconds on handing over
   * to one of them.
   */
  async retire(): Promise<void> {
    this.#retired = true
    const end = (): Promise<void> => (this.#recipe.untidy === true ? this.stop(3_000) : this.kill())
    await end()
    await this.#starting
    await end()
  }

  /** The process and all its children die at once, as by a crash; what they had written to files stays. */
  async kill(): Promise<void> {
    const { child, entry } = this.#live() ?? {}
    if (child === undefined || entry === undefined) return
    child.ref()
    // Stopped first, so that it starts no more children while they are looked for.
    signalProcess(entry, 'SIGSTOP')
    const all = [entry, ...descendants(entry.pid)]
    for (const each of all) signalProcess(each, 'SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    // A restart at once must not meet them: PostgreSQL refuses to start while one of the old backends lives.
    while (all.some(isAlive)) await sleep(5)
  }

  /** Freezes the process and its children; its sockets stay open and fill up. */
  pause(): void {
    const { entry } = this.#live() ?? {}
    if (entry === undefined) throw new TestbedError(`${this.name} is not running, so it can't be paused`)
    signalProcess(entry, 'SIGSTOP')
    for (const child of descendants(entry.pid)) signalProcess(child, 'SIGSTOP')
  }

  /** Resolves once every thread of a paused server stands still: a signal is not obeyed at once. */
  async stoodStill(): Promise<void> {
    const { entry } = this.#live() ?? {}
    if (entry === undefined) throw new TestbedError(`${this.name} is not running`)
    while (![entry, ...descendants(entry.pid)].every(({ pid }) => isStopped(pid))) await sleep(1)
  }

  /** Lets a paused server go on; nothing happens if it isn't paused. */
  resume(): void {
    const { entry } = this.#live() ?? {}
    if (entry === undefined) return
    for (const each of [...descendants(entry.pid), entry]) signalProcess(each, 'SIGCONT')
  }

  /**
   * Stops it if it runs (in order; call `kill()` before for a crash) and starts it on the same port, with its data or
   * empty.
   */
  async restart(o: { readonly keepData: boolean }): Promise<void> {
    await this.stop()
    if (!o.keepData) await rm(this.data, { recursive: true, force: true })
    await this.start()
  }

  async #start(withinMs: number | undefined): Promise<void> {
    if (this.#retired) throw new TestbedError(`${this.name} belongs to a testbed that was closed`)
    if (this.running) throw new TestbedError(`${this.name} already runs as process ${this.pid}`)
    const user = this.#recipe.user ?? null
    if (await made(this.data)) {
      await give(this.data, user)
      await this.#fill()
    }
    const log = await open(join(this.dir, 'log'), 'a')
    try {
      const [program, ...args] = this.#recipe.command
      const { program: begun, args: more } = this.#newer ?? { program, args: [] }
      const child = spawn('/bin/sh', ['-c', GATE, 'sh', begun, ...args, ...more], {
        cwd: this.data,
        detached: true,
        // Nothing of ours leaks in: PGPORT, REDISCLI_AUTH, JAVA_TOOL_OPTIONS would each change what is started.
        env: {
          PATH: process.env['PATH'],
          HOME: this.dir,
          LC_ALL: 'C',
          ...this.#everywhere,
          ...this.#recipe.env,
          ...preloads(this.#everywhere, this.#recipe.env),
        },
        stdio: ['pipe', log.fd, log.fd],
        ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
      })
      await once(child, 'spawn')
      // A gate that dies before its line: the wait for readiness sees the exit and tells.
      child.on('error', () => undefined)
      child.stdin?.on('error', () => undefined)
      this.#child = child
      child.unref()
    } finally {
      await log.close()
    }
    this.#entry = processEntry(this.#child.pid ?? 0) ?? undefined
    if (this.#entry === undefined) throw new TestbedError(`${this.name} was gone at once${this.#tail()}`)
    try {
      await this.#janitor.record(this.#entry)
      if (!this.#retired) this.#child.stdin?.write('go\n')
    } finally {
      // Without its line the gate reads the end of its input, and ends.
      this.#child.stdin?.end()
    }
    await this.ready(withinMs)
  }

  async #fill(): Promise<void> {
    try {
      await this.#recipe.fill?.(this.data)
    } catch (error) {
      // Half-made data would be taken for whole ones by the next start.
      await rm(this.data, { recursive: true, force: true })
      throw error
    }
  }

  #live(): { readonly child: ChildProcess; readonly entry: ProcessEntry } | null {
    return this.running && this.#child && this.#entry ? { child: this.#child, entry: this.#entry } : null
  }

  #lastWords(): string {
    const child = this.#child
    if (child === undefined) return 'never started'
    return child.signalCode === null ? `exit code ${child.exitCode}` : `killed by ${child.signalCode}`
  }

  #tail(): string {
    try {
      const lines = readFileSync(join(this.dir, 'log'), 'utf8').trimEnd().split('\n').slice(-20)
      return `\nThe end of its log:\n  ${lines.join('\n  ')}`
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return ''
      throw error
    }
  }
}

/** The libraries of both: each moves something else. */
function preloads(...given: readonly (Readonly<Record<string, string>> | undefined)[]): Record<string, string> {
  const libraries = given.flatMap((env) => env?.['LD_PRELOAD'] ?? [])
  return libraries.length === 0 ? {} : { LD_PRELOAD: libraries.join(':') }
}

/** Makes a folder; false if it was there. Not its parents: once the testbed is closed its folder must not come back. */
async function made(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 })
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

async function exitedWithin(child: ChildProcess, graceMs: number): Promise<boolean> {
  const limit = AbortSignal.timeout(graceMs)
  try {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal: limit })
    return true
  } catch (error) {
    if (limit.aborted) return false
    throw error
  }
}
