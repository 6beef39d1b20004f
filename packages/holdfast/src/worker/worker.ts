/** The thread that has the store. It answers the thread that locks, and renews for that thread while it is blocked. */
import { once } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { diagnostics } from '../contract/events.ts'
import { StoreError } from '../contract/errors.ts'
import type { Driver, Entry, LineView, Place, Stop } from '../contract/driver.ts'
import { openDriver } from '../open.ts'
import { Renewals } from './renewals.ts'
import { type CallName, type WorkerSettings, type Reply, type Request, sendable } from './messages.ts'
import { WorkerHeartbeat } from './heartbeat.ts'

interface Watch {
  readonly id: string | null
  readonly begin: () => Promise<Stop>
  stop: Promise<Stop>
}

class Desk {
  readonly #port: MessagePort
  readonly #driver: Driver
  readonly #heartbeat: WorkerHeartbeat
  readonly #renewals: Renewals
  readonly #shiftMs: number
  readonly #watches = new Map<number, Watch>()
  readonly #watchOf = new Map<string, Watch>()

  /**
   * @param shiftMs what to add to this thread's performance.now() to get the other's: rather too little than too much.
   */
  constructor(port: MessagePort, driver: Driver, settings: WorkerSettings, shiftMs: number) {
    this.#port = port
    this.#driver = driver
    this.#renewals = new Renewals()
    this.#shiftMs = shiftMs
    const alive = new BigInt64Array(settings.alive)
    const silentMs = (): number => performance.now() + shiftMs - Number(Atomics.load(alive, 0)) / 1e3
    this.#heartbeat = new WorkerHeartbeat(driver, this.#renewals, silentMs, settings.silenceMs, this.#shiftMs)
  }

  receive(request: Request): void {
    switch (request.kind) {
      case 'call':
        void this.#answer(request.call, request.name, request.args)
        return
      case 'watch':
        this.#watch(request.watch, request.line, request.id)
        return
      case 'unwatch':
        void this.#unwatch(request.watch)
        return
      case 'want':
        this.#heartbeat.want(request.id, request.wanted)
        return
      case 'page':
        this.#renewals.add(request.page)
        return
      case 'slot':
        this.#heartbeat.setSlot(request.id, request.slot)
        return
      case 'time':
        return
      default:
        throw new Error(`unknown request ${JSON.stringify(request satisfies never)}`)
    }
  }

  async #answer(call: number, name: CallName, args: readonly unknown[]): Promise<void> {
    try {
      this.#tell({ kind: 'answer', call, value: await this.#call(name, args) })
    } catch (error) {
      this.#tell({ kind: 'failure', call, error: sendable(error) })
    }
  }

  async #call(name: CallName, args: readonly unknown[]): Promise<unknown> {
    const driver = this.#driver
    switch (name) {
      case 'enter': {
        const [entry, wait] = args as [Entry, boolean]
        await this.#watched(entry.id)
        return this.#placed(entry, await driver.enter(entry, wait))
      }
      case 'enterAll': {
        const [entries] = args as [readonly Entry[]]
        for (const { id } of entries) await this.#watched(id)
        const places = (await driver.enterAll?.(entries)) ?? null
        return places === null ? null : entries.map((entry, i) => this.#placed(entry, places[i] ?? null))
      }
      case 'touch': {
        const [entries] = args as [readonly Entry[]]
        const places = await driver.touch(entries)
        return entries.map((entry, i) => this.#placed(entry, places[i] ?? null))
      }
      case 'rename': {
        const [entry, id] = args as [Entry, string]
        this.#heartbeat.drop(entry.id)
        await this.#watched(id)
        const place = (await driver.rename?.(entry, id)) ?? null
        // An exported place belongs to nobody: it must lapse unless its heir takes it.
        return entry.unclaimed === true ? this.#shift(place) : this.#placed({ ...entry, id }, place)
      }
      case 'reweigh': {
        const [entry, turn] = args as [Entry, number]
        return this.#placed(entry, (await driver.reweigh?.(entry, turn)) ?? null)
      }
      case 'leave': {
        const [entry, afterMs] = args as [Entry, number]
        this.#heartbeat.drop(entry.id)
        return driver.leave(entry, afterMs)
      }
      case 'list':
        return collect(driver.list(args[0] as string))
      case 'close':
        this.#heartbeat.close()
        return driver.close()
      case 'setup':
        return driver.setup?.()
      case 'view':
      case 'swap':
      case 'take':
      case 'break': {
        const method = driver[name] as (...args: readonly unknown[]) => Promise<unknown>
        return method.apply(driver, [...args])
      }
      default:
        throw new StoreError(`the worker knows no call ${JSON.stringify(name satisfies never)}`)
    }
  }

  #placed(entry: Entry, place: Place | null): Place | null {
    if (place === null) this.#heartbeat.drop(entry.id)
    else this.#heartbeat.keep(entry, place)
    return this.#shift(place)
  }

  /** The place with its times by the other thread's clock. */
  #shift(place: Place | null): Place | null {
    if (place === null) return null
    const { monoMs, wallMs } = place.since
    return { ...place, since: { monoMs: monoMs + this.#shiftMs, wallMs } }
  }

  #watch(watch: number, line: string, id: string | null): void {
    const begin = async (): Promise<Stop> =>
      this.#driver.watch(line, id, (push) => this.#tell({ kind: 'wake', watch, push }))
    const begun: Watch = { id, begin, stop: begin() }
    this.#watches.set(watch, begun)
    if (id !== null) this.#watchOf.set(id, begun)
    // The enter that waits for this watch reports the error. An observer has no enter, so wake it to look for itself.
    begun.stop.catch(() => this.#tell({ kind: 'wake', watch, push: undefined }))
  }

  /** A watch must be in force before its place enters. A watch that failed is begun anew with the next try. */
  async #watched(id: string): Promise<void> {
    const watch = this.#watchOf.get(id)
    if (watch === undefined) return
    try {
      await watch.stop
    } catch (error) {
      watch.stop = watch.begin()
      watch.stop.catch((again: unknown) => diagnostics.failed('heartbeat', again))
      throw error
    }
  }

  async #unwatch(watch: number): Promise<void> {
    const begun = this.#watches.get(watch)
    this.#watches.delete(watch)
    if (begun === undefined) return
    if (begun.id !== null) this.#watchOf.delete(begun.id)
    const [result] = await Promise.allSettled([begun.stop])
    if (result.status === 'fulfilled') result.value()
  }

  #tell(reply: Reply): void {
    this.#port.postMessage(reply)
  }
}

async function collect(lines: AsyncIterable<LineView>): Promise<LineView[]> {
  const all: LineView[] = []
  for await (const line of lines) all.push(line)
  return all
}

/** The other thread read its clock before its answer arrived here, so this is never too much. */
async function learnShift(port: MessagePort): Promise<number> {
  const answer = once(port, 'message') as Promise<[Extract<Request, { readonly kind: 'time' }>]>
  port.postMessage({ kind: 'clock' } satisfies Reply)
  const [{ nowMs }] = await answer
  return nowMs - performance.now()
}

async function main(port: MessagePort, settings: WorkerSettings): Promise<void> {
  const shiftMs = await learnShift(port)
  let driver: Driver
  try {
    driver = (await openDriver(settings.url, settings.options)).driver
  } catch (error) {
    port.postMessage({ kind: 'closed', error: sendable(error) } satisfies Reply)
    return
  }
  const desk = new Desk(port, driver, settings, shiftMs)
  port.on('message', (request: Request) => desk.receive(request))
  const { name, traits } = driver
  const can = (['enterAll', 'rename', 'reweigh', 'take', 'view', 'setup'] as const).filter(
    (method) => driver[method] !== undefined,
  )
  port.postMessage({ kind: 'open', name, traits, can } satisfies Reply)
}

// A failure becomes an error of the thread: whoever started the worker hears of it.
if (parentPort !== null) void main(parentPort, workerData as WorkerSettings)
