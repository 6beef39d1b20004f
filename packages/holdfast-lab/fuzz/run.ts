/** One target, fuzzed for a while in a process of its own, which is started again after it had to be stopped. */
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { News } from './child.ts'
import { Present } from './present.ts'

const HEAP_MB_MAX = 512
/** One input takes microseconds, or on servers a few seconds at most. */
const HANG_MS = 30_000
/** Whoever had no processor for so long answers when asked once more, alone. */
const ALONE_MS = 120_000
const LOOK_MS = 1_000
/** Of what the process said before it ended. */
const WORDS_MAX = 4_000
/** More faults of a kind say nothing new. */
const FAULTS_MAX = 20

export interface FoundFault {
  readonly what: string
  /** Where the input was written. */
  readonly file: string
}

export class Run {
  readonly target: string
  readonly faults: FoundFault[] = []
  readonly #seed: number
  readonly #endsAtMs: number
  readonly #seconds: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
  readonly #kinds = new Set<string>()
  readonly #corpus: Uint8Array[]
  #runs = 0
  #runsBefore = 0
  #blocks = 0

  constructor(target: string, seed: number, seconds: number, corpus: readonly Uint8Array[]) {
    this.target = target
    this.#seed = seed
    this.#seconds = seconds
    this.#endsAtMs = performance.now() + seconds * 1_000
    this.#corpus = [...corpus]
  }

  get corpus(): readonly Uint8Array[] {
    return this.#corpus
  }

  async finish(): Promise<void> {
    for (let life = 0; performance.now() < this.#endsAtMs && this.faults.length < FAULTS_MAX; life++) {
      await this.#live(this.#seed + life)
      this.#runsBefore += this.#runs
      this.#runs = 0
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }

  report(): string {
    const head =
      `${this.target}: ${this.#runsBefore} inputs in ${this.#seconds} s from seed ${this.#seed}, ` +
      `${this.#blocks} blocks of the library reached, ${this.#corpus.length} inputs worth keeping, ` +
      `${this.faults.length} faults`
    const each = this.faults.map(
      ({ what, file }) => `  ${what}\n  replay: npm run fuzz -- ${this.target} --replay ${file}`,
    )
    return [head, ...each].join('\n')
  }

  #live(seed: number): Promise<void> {
    const seconds = Math.max(1, (this.#endsAtMs - performance.now()) / 1_000)
    const file = join(this.#folder, 'present')
    writeFileSync(file, Buffer.alloc(8))
    const present = new Present(openSync(file, 'r+'))
    const child = fork(
      fileURLToPath(new URL('child.ts', import.meta.url)),
      [this.target, String(seed), String(seconds), file],
      {
        execArgv: [...process.execArgv, `--max-old-space-size=${HEAP_MB_MAX}`, '--unhandled-rejections=strict'],
        stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      },
    )
    let words = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-WORDS_MAX)
    })
    let last = -1
    let lastAtMs = performance.now()
    let hung: Buffer | null = null
    const watch = setInterval(() => {
      const { count, input } = present.read()
      if (count !== last) {
        last = count
        lastAtMs = performance.now()
      } else if (count > 0 && performance.now() - lastAtMs > HANG_MS) {
        hung ??= input
        child.kill('SIGKILL')
      }
    }, LOOK_MS)
    child.on('message', (news: News) => this.#hear(news))
    return new Promise((resolve) => {
      child.on('close', (code, signal) => {
        clearInterval(watch)
        const { input } = present.read()
        if (code !== 0 && signal !== 'SIGKILL') this.#fault(`the process ended with ${code ?? signal}: ${words}`, input)
        resolve(hung === null ? undefined : this.#judgeHang(hung))
      })
    })
  }

  /** On a busy machine 30 s may pass without a turn: a fault is what does not answer in a process of its own. */
  async #judgeHang(input: Buffer): Promise<void> {
    const file = join(this.#folder, 'hung')
    writeFileSync(file, input)
    const main = fileURLToPath(new URL('main.ts', import.meta.url))
    const child = fork(main, [this.target, '--replay', file], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: ALONE_MS,
    })
    const [code] = (await once(child, 'close')) as [number | null]
    if (code === null) this.#fault(`no answer within ${HANG_MS} ms, nor alone within ${ALONE_MS} ms`, input)
  }

  #hear(news: News): void {
    if (news.kind === 'found') this.#corpus.push(Buffer.from(news.input, 'base64'))
    else if (news.kind === 'failed') this.#fault(news.error, Buffer.from(news.input, 'base64'))
    else {
      this.#runs = news.runs
      this.#blocks = Math.max(this.#blocks, news.blocks)
    }
  }

  /** The same error from the same line is one fault. */
  #fault(what: string, input: Buffer): void {
    const lines = what.split('\n')
    const where = lines.find((line) => line.includes('/packages/holdfast/src/')) ?? lines[1] ?? ''
    const kind = `${(lines[0] ?? '').split(':')[0]} ${where.replace(/:\d+\)?$/, '')}`
    if (this.#kinds.has(kind)) return
    this.#kinds.add(kind)
    const file = `.tmp/fuzz/${this.target}-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`
    mkdirSync('.tmp/fuzz', { recursive: true })
    writeFileSync(file, input)
    this.faults.push({ what: lines.slice(0, 6).join('\n  '), file })
  }
}
