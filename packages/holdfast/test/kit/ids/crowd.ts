/**
 * Eight processes that make ids; some are stopped meanwhile, and others take their slots over. Nothing may come twice.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('./maker.js', import.meta.url))
const MAKERS = 8
const PATIENCE_MS = 60_000

interface Report {
  readonly kind: 'ready' | 'making' | 'made'
  readonly worker: number | null
}

class Maker {
  readonly path: string
  readonly exited: Promise<void>
  worker: number | null = null
  readonly #process: ChildProcess
  readonly #seen = new Map<Report['kind'], number>()
  readonly #listeners = new Set<() => void>()

  constructor(url: string, options: object, path: string) {
    this.path = path
    this.#process = fork(PROGRAM, [url, JSON.stringify(options), path], { execArgv: [] })
    this.#process.on('message', ({ kind, worker }: Report) => {
      this.worker = worker
      this.#seen.set(kind, (this.#seen.get(kind) ?? 0) + 1)
      for (const listener of this.#listeners) listener()
    })
    this.exited = new Promise((resolve) => this.#process.once('exit', () => resolve()))
  }

  make(count: number, until: 'made' | 'told' = 'made'): void {
    this.#process.send({ kind: 'make', count, until })
  }

  tell(kind: 'enough' | 'close'): void {
    this.#process.send({ kind })
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    this.#process.kill(signal)
  }

  count(kind: Report['kind']): number {
    return this.#seen.get(kind) ?? 0
  }

  /** Until it has said so, more than `after` times. */
  told(kind: Report['kind'], after = 0): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no "${kind}" within ${PATIENCE_MS} ms`)), PATIENCE_MS)
      const look = (): void => {
        if (this.count(kind) <= after) return
        clearTimeout(timer)
        this.#listeners.delete(look)
        resolve()
      }
      this.#listeners.add(look)
      look()
    })
  }
}

export interface CrowdResult {
  readonly made: number
  readonly repeated: number
  /** Workers that changed hands while their owner was stopped. */
  readonly takenOver: readonly number[]
}

/** `stops` of the makers are stopped, one after the other, until another process has taken their slot over. */
export async function crowd(url: string, total: number, stops: number): Promise<CrowdResult> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-ids-'))
  // As many slots as makers: who takes over must take the slot of the one that is stopped.
  const options = { name: 'crowd', workerBits: 3, ttlMs: 5_000 }
  let started = 0
  const all: Maker[] = []
  const start = async (): Promise<Maker> => {
    const maker = new Maker(url, options, join(folder, String(started++)))
    all.push(maker)
    await maker.told('ready')
    return maker
  }
  try {
    const makers: Maker[] = []
    for (let i = 0; i < MAKERS; i++) makers.push(await start())
    const share = Math.ceil(total / MAKERS / 2)
    // Small, so that each has a slot before anybody is stopped.
    for (const maker of makers) maker.make(1)
    await Promise.all(makers.map((maker) => maker.told('made')))
    for (const maker of makers.slice(stops)) maker.make(share)
    const takenOver: number[] = []
    for (const stopped of makers.slice(0, stops)) {
      stopped.make(share, 'told')
      await stopped.told('making', stopped.count('making'))
      stopped.signal('SIGSTOP')
      const heir = await start()
      heir.make(share)
      await heir.told('made')
      // What it reported last, before it was stopped, was its slot.
      if (heir.worker !== null && heir.worker === stopped.worker) takenOver.push(heir.worker)
      const before = stopped.count('making')
      stopped.signal('SIGCONT')
      heir.tell('close')
      await heir.exited
      await stopped.told('making', before)
      stopped.tell('enough')
    }
    await Promise.all(makers.map((maker) => maker.told('made', 1)))
    for (const maker of makers) maker.make(share)
    await Promise.all(makers.map((maker) => maker.told('made', 2)))
    for (const maker of makers) maker.tell('close')
    await Promise.all(makers.map((maker) => maker.exited))
    return { ...judge(all.map(({ path }) => path)), takenOver }
  } finally {
    for (const maker of all) maker.signal('SIGKILL')
    await Promise.all(all.map((maker) => maker.exited))
    rmSync(folder, { recursive: true, force: true })
  }
}

function judge(paths: readonly string[]): { readonly made: number; readonly repeated: number } {
  const bytes = Buffer.concat(paths.map((path) => readFileSync(path)))
  const ids = new BigUint64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8).slice().sort()
  let repeated = 0
  for (let i = 1; i < ids.length; i++) if (ids[i] === ids[i - 1]) repeated++
  return { made: ids.length, repeated }
}
