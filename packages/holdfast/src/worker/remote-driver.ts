/** The store as the locking thread sees it: every call goes to the worker, which has the store. */
import { Worker } from 'node:worker_threads'
import { ClosedError, type HoldfastError, StoreError, StoreUnreachableError } from '../contract/errors.ts'
import type { WorkerHeartbeat } from '../acquire/heartbeat.ts'
import type {
  CellView,
  Change,
  Demand,
  Driver,
  Entry,
  LineView,
  Place,
  Stop,
  Taken,
  Traits,
  Wake,
} from '../contract/driver.ts'
import { workerProgram } from './program.ts'
import { GONE, Renewals } from './renewals.ts'
import { type CallName, type DriverCalls, type WorkerSettings, received, type Reply, type Request } from './messages.ts'

interface Pending {
  resolve(value: unknown): void
  reject(error: HoldfastError): void
}

type Opened = Extract<Reply, { readonly kind: 'open' }>

const SIGN_MS_MAX = 500

export interface RemoteOptions {
  readonly prefix?: string
  readonly connectTimeoutMs?: number
}

export class RemoteDriver implements Driver, WorkerHeartbeat {
  readonly name: string
  readonly traits: Traits
  readonly enterAll?: (entries: readonly Entry[]) => Promise<Place[] | null>
  readonly rename?: (entry: Entry, id: string) => Promise<Place | null>
  readonly reweigh?: (entry: Entry, turn: number) => Promise<Place | null>
  readonly take?: (key: string, demand: Demand) => Promise<Taken>
  readonly view?: (line: string) => Promise<LineView | null>
  readonly setup?: () => Promise<void>
  readonly #worker: Worker
  readonly #alive: BigInt64Array
  readonly #silenceMs: number
  readonly #signs: NodeJS.Timeout
  readonly #pending = new Map<number, Pending>()
  readonly #wakes = new Map<number, Wake>()
  readonly #renewals = new Renewals()
  readonly #slots = new Map<string, number>()
  readonly #free: number[] = []
  #count = 0
  #ended: HoldfastError | null = null
  #closing: Promise<void> | null = null

  private constructor(worker: Worker, alive: BigInt64Array, silenceMs: number, opened: Opened) {
    this.#worker = worker
    this.#alive = alive
    this.#silenceMs = silenceMs
    this.name = opened.name
    this.traits = opened.traits
    const { can } = opened
    if (can.includes('enterAll')) this.enterAll = (entries) => this.#enterAll(entries)
    if (can.includes('rename')) this.rename = (entry, id) => this.#rename(entry, id)
    if (can.includes('reweigh')) this.reweigh = (entry, turn) => this.#call('reweigh', [entry, turn])
    if (can.includes('take')) this.take = (key, demand) => this.#call('take', [key, demand])
    if (can.includes('view')) this.view = (line) => this.#call('view', [line])
    if (can.includes('setup')) this.setup = () => this.#call('setup', [])
    worker.on('message', (reply: Reply) => this.#receive(reply))
    worker.on('error', (error: Error) =>
      this.#end(new StoreUnreachableError(`the heartbeat worker failed: ${error.message}`)),
    )
    worker.on('exit', () => this.#end(new StoreUnreachableError('the heartbeat worker has ended')))
    worker.unref()
    this.#signs = setInterval(() => this.#sign(), Math.min(SIGN_MS_MAX, silenceMs / 4))
    this.#signs.unref()
  }

  /** Starts the worker, which opens the store. Rejects with the error of opening the store. */
  static async open(url: string, options: RemoteOptions, silenceMs: number): Promise<RemoteDriver> {
    const alive = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
    sign(alive)
    const buffer = alive.buffer as SharedArrayBuffer
    const settings: WorkerSettings = { url, options, silenceMs, alive: buffer }
    // The worker must not inherit flags of this thread: --input-type, for example, would stop it.
    const worker = new Worker(workerProgram(), { workerData: settings, execArgv: [], name: 'holdfast heartbeat' })
    const opened = await new Promise<Opened>((resolve, reject) => {
      const failed = (error: Error): void => reject(new StoreError(`the heartbeat worker failed: ${error.message}`))
      const ended = (): void => reject(new StoreError('the heartbeat worker ended before it had opened the store'))
      worker.once('error', failed)
      worker.once('exit', ended)
      worker.on('message', function heard(reply: Reply) {
        if (reply.kind === 'clock') {
          worker.postMessage({ kind: 'time', nowMs: performance.now() } satisfies Request)
          return
        }
        worker.off('message', heard)
        worker.off('error', failed)
        worker.off('exit', ended)
        if (reply.kind === 'open') resolve(reply)
        else if (reply.kind === 'closed') reject(received(reply.error))
      })
    })
    return new RemoteDriver(worker, alive, silenceMs, opened)
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    this.#assign(entry.id)
    return this.#freed([entry.id], this.#call('enter', [entry, wait]), (place) => place === null)
  }

  touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return this.#call('touch', [entries])
  }

  leave(entry: Entry, afterMs = 0): Promise<void> {
    return this.#freed([entry.id], this.#call('leave', [entry, afterMs]), () => true)
  }

  watch(line: string, id: string | null, wake: Wake): Stop {
    const watch = ++this.#count
    this.#wakes.set(watch, wake)
    this.#send({ kind: 'watch', watch, line, id })
    return () => {
      if (this.#wakes.delete(watch)) this.#send({ kind: 'unwatch', watch })
    }
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    yield* await this.#call('list', [prefix])
  }

  swap(key: string, change: Change | null): Promise<CellView> {
    return this.#call('swap', [key, change])
  }

  break(line: string, now: boolean): Promise<number> {
    return this.#call('break', [line, now])
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  latest(id: string): ReturnType<WorkerHeartbeat['latest']> {
    const slot = this.#slots.get(id)
    if (slot === undefined) return null
    const { monoMs, wallMs, gone } = this.#renewals.read(slot)
    if (gone === GONE.lapsed) return { gone: 'its place is gone from the store', cause: 'gone' }
    if (gone === GONE.silent) {
      const gone = `this thread was blocked for longer than silenceMs, ${this.#silenceMs} ms: the worker gave it up`
      return { gone, cause: 'silent' }
    }
    return monoMs === 0 ? null : { since: { monoMs, wallMs } }
  }

  keep(id: string): void {
    this.#send({ kind: 'want', id, wanted: true })
  }

  fix(id: string): void {
    this.#send({ kind: 'want', id, wanted: false })
  }

  #enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const ids = entries.map(({ id }) => id)
    for (const id of ids) this.#assign(id)
    return this.#freed(ids, this.#call('enterAll', [entries]), (places) => places === null)
  }

  #rename(entry: Entry, id: string): Promise<Place | null> {
    if (entry.unclaimed !== true) this.#assign(id)
    const renamed = this.#freed([entry.id], this.#call('rename', [entry, id]), () => true)
    return this.#freed([id], renamed, (place) => place === null)
  }

  /** Says where the worker writes what it learns about this place. */
  #assign(id: string): void {
    if (this.#slots.has(id)) return
    let slot = this.#free.pop()
    if (slot === undefined) {
      slot = this.#renewals.size
      const page = Renewals.newPage()
      this.#renewals.add(page)
      this.#send({ kind: 'page', page })
      for (let other = this.#renewals.size - 1; other > slot; other--) this.#free.push(other)
    }
    this.#slots.set(id, slot)
    this.#send({ kind: 'slot', id, slot })
  }

  /** When the answer is here, the worker has let go of the place, and the slot may go to another place. */
  async #freed<T>(ids: readonly string[], answer: Promise<T>, isOver: (value: T) => boolean): Promise<T> {
    const value = await answer
    if (isOver(value)) {
      for (const id of ids) {
        const slot = this.#slots.get(id)
        if (slot === undefined) continue
        this.#slots.delete(id)
        this.#renewals.clear(slot)
        this.#free.push(slot)
      }
    }
    return value
  }

  #call<K extends CallName>(name: K, args: Parameters<DriverCalls[K]>): Promise<ReturnType<DriverCalls[K]>> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) {
        reject(this.#ended)
        return
      }
      const call = ++this.#count
      // The process must not end before the answer; an idle worker does not keep it.
      if (this.#pending.size === 0) this.#worker.ref()
      this.#pending.set(call, { resolve: resolve as (value: unknown) => void, reject })
      this.#send({ kind: 'call', call, name, args })
    })
  }

  #receive(reply: Reply): void {
    if (reply.kind === 'wake') {
      this.#wakes.get(reply.watch)?.(reply.push)
    } else if (reply.kind === 'answer' || reply.kind === 'failure') {
      const pending = this.#pending.get(reply.call)
      this.#pending.delete(reply.call)
      if (this.#pending.size === 0) this.#worker.unref()
      if (reply.kind === 'answer') pending?.resolve(reply.value)
      else pending?.reject(received(reply.error))
    }
  }

  #send(request: Request): void {
    if (this.#ended !== null) return
    this.#sign()
    this.#worker.postMessage(request)
  }

  #sign(): void {
    sign(this.#alive)
  }

  #end(error: HoldfastError): void {
    if (this.#ended !== null) return
    this.#ended = error
    clearInterval(this.#signs)
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }

  async #close(): Promise<void> {
    try {
      // A worker that has ended has nothing left to close: what it held lapses.
      if (this.#ended === null) await this.#call('close', [])
    } finally {
      this.#end(new ClosedError('this store was closed; open it again with holdfast()'))
      await this.#worker.terminate()
    }
  }
}

function sign(alive: BigInt64Array): void {
  Atomics.store(alive, 0, BigInt(Math.ceil(performance.now() * 1e3)))
}
