/** A sample of a page as a program: the servers of a test in the place of the reader's, its output line by line. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What samples take for granted (see prelude.ts): here each says that it was called. */
const GLOBALS = `
globalThis.report = async (signal) => { console.log('report', signal.aborted) }
if (process.env.DATABASE !== undefined) {
  const { default: pg } = await import('pg')
  globalThis.pool = new pg.Pool({ connectionString: process.env.DATABASE, allowExitOnIdle: true })
  globalThis.inTransaction = async (pool, work) => {
    const tx = await pool.connect()
    try {
      await tx.query('BEGIN')
      const result = await work(tx)
      await tx.query('COMMIT')
      return result
    } catch (error) {
      await tx.query('ROLLBACK')
      throw error
    } finally {
      tx.release()
    }
  }
}
`

const PATIENCE_MS = 60_000
const LOOK_MS = 20

/** Looks until it is so. Tests that run beside each other can't use `expect.poll`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; !(await isSo()); ) {
    if (performance.now() > end) throw new Error(`waited ${PATIENCE_MS} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

export interface Ended {
  readonly code: number | null
  readonly lines: readonly string[]
}

/** The project of somebody who has installed the packages, in a folder of its own. */
export class Project {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'holdfast-how-to-'))
  readonly #running = new Set<Program>()

  constructor() {
    const modules = join(this.folder, 'node_modules')
    mkdirSync(modules)
    for (const name of readdirSync(join(ROOT, 'node_modules'))) {
      if (!name.startsWith('.')) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
    }
    this.write('package.json', '{ "type": "module" }')
    this.write('globals.mjs', GLOBALS)
    const compilerOptions = { target: 'ES2022', experimentalDecorators: true, emitDecoratorMetadata: true }
    this.write('tsconfig.json', JSON.stringify({ compilerOptions }))
  }

  write(name: string, text: string): string {
    const file = join(this.folder, name)
    writeFileSync(file, text, { mode: 0o755 })
    return file
  }

  /** The blocks of a page in one language, with `urls` instead of those of the reader. */
  blocks(page: string, language: string, urls: Readonly<Record<string, string>> = {}): string[] {
    const text = readFileSync(join(ROOT, 'docs/how-to', page), 'utf8')
    const found = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter((match) => match[1] === language)
    return found.map((match) =>
      Object.entries(urls).reduce((block, [from, to]) => block.replaceAll(from, to), match[2] as string),
    )
  }

  /** Starts a program of TypeScript. */
  start(name: string, text: string, env: Readonly<Record<string, string>> = {}): Program {
    const file = this.write(`${name}.ts`, text)
    return this.run(process.execPath, ['--import', 'tsx', '--import', './globals.mjs', file], env)
  }

  run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Program {
    const child = spawn(command, [...args], {
      cwd: this.folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const program = new Program(child, () => this.#running.delete(program))
    this.#running.add(program)
    return program
  }

  /** Ends what still runs; also what a failed test has left stopped. */
  async killAll(): Promise<void> {
    const all = [...this.#running]
    for (const program of all) program.signal('SIGKILL')
    await Promise.all(all.map(({ ended }) => ended))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export class Program {
  readonly #child: ChildProcess
  #text = ''
  readonly ended: Promise<Ended>

  constructor(child: ChildProcess, onEnd: () => void) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.#text += String(chunk)))
    this.ended = once(child, 'close').then(([code]) => {
      onEnd()
      return { code: code as number | null, lines: this.lines }
    })
  }

  get lines(): string[] {
    return this.#text.split('\n').filter((line) => line !== '')
  }

  /** Resolves when a line has this text. What it printed instead is in the error. */
  async says(text: string): Promise<void> {
    await until(`says ${text}`, () => this.#text.includes(text)).catch((error: Error) => {
      throw new Error(`${error.message}; it said:\n${this.#text}`)
    })
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }
}
