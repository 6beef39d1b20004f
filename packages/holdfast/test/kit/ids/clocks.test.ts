/** Ids on clocks that a test moves: full milliseconds, clocks that go back, horizons, and slots that change hands. */
import { describe, expect, test } from 'vitest'
import { FaultyDriver, lost } from '../../../conformance/faulty.ts'
import { memory } from '../../../src/stores/memory/index.ts'
import {
  ClosedError,
  type Holdfast,
  holdfast,
  type Ids,
  StoreUnreachableError,
  UsageError,
} from '../../../src/index.ts'
import { ManualRuntime } from '../../manual-runtime.ts'

let stores = 0
/** Longer than any horizon reaches. */
const TTL_MS = 60_000

/** Processes of one host: one clock, but each may be paused by itself. */
class Host {
  readonly runtime = new ManualRuntime()
  readonly name = `ids-clocks-${++stores}`
  isSilent = false

  constructor() {
    this.runtime.wallMs = 1_800_000_000_000
  }

  open(): Promise<Holdfast> {
    const silent = {
      before: (call: number): void => {
        if (this.isSilent) throw lost(call)
      },
    }
    const driver = new FaultyDriver(memory({ name: this.name, runtime: this.runtime }), silent)
    return holdfast(driver, { runtime: this.runtime, ttlMs: TTL_MS, connectTimeoutMs: 100 })
  }
}

/** All that can be had without waiting. */
function drain(ids: Ids): bigint[] {
  const all: bigint[] = []
  for (let id = ids.tryNext(); id !== null; id = ids.tryNext()) all.push(id)
  return all
}

function expectRising(all: readonly bigint[]): void {
  for (const [i, id] of all.entries()) if (i > 0) expect(id > (all[i - 1] as bigint)).toBe(true)
}

async function settled<T>(host: Host, promise: Promise<T>): Promise<T> {
  const [result] = await Promise.all([promise, host.runtime.pass(20)])
  return result
}

describe('a millisecond that is full', () => {
  test('is waited for, not repeated; what a late timer missed is made up for, up to 10 ms', async () => {
    const host = new Host()
    const ids = (await host.open()).ids({ sequenceBits: 4 })
    const all = [await settled(host, ids.next())]
    all.push(...drain(ids))
    expect(ids.tryNext()).toBe(null)
    host.runtime.sleep(1)
    const made = drain(ids)
    expect(made).toHaveLength(16)
    expect(new Set(made.map((id) => ids.parts(id).timeMs)).size).toBe(1)
    host.runtime.sleep(3)
    const late = drain(ids)
    expect(late).toHaveLength(48)
    host.runtime.sleep(300)
    const later = drain(ids)
    expect(later).toHaveLength(11 * 16)
    all.push(...made, ...late, ...later)
    expectRising(all)
    const waiting = Promise.all(Array.from({ length: 40 }, () => ids.next()))
    const served = await settled(host, waiting)
    expectRising([...all, ...served])
  })

  test('an id of a quiet process has the present time', async () => {
    const host = new Host()
    const ids = (await host.open()).ids()
    await settled(host, ids.next())
    for (let i = 0; i < 50; i++) {
      host.runtime.sleep(7)
      expect(ids.parts(ids.tryNext() as bigint).timeMs).toBe(host.runtime.wallMs)
    }
  })
})

describe('a clock that goes back', () => {
  test('neither repeats an id nor stops', async () => {
    const host = new Host()
    const ids = (await host.open()).ids({ sequenceBits: 2 })
    const all = [await settled(host, ids.next())]
    for (let step = 0; step < 400; step++) {
      await host.runtime.pass(5)
      if (step % 100 === 50) host.runtime.wallMs -= 3_600_000
      all.push(...drain(ids))
    }
    expectRising(all)
    expect(all.length).toBeGreaterThan(400)
  })

  test('also across a restart: the next process begins beyond the horizon', async () => {
    const host = new Host()
    const first = (await host.open()).ids({ workerBits: 1 })
    const made = [await settled(host, first.next()), ...drain(first)]
    await first.close()
    host.runtime.wallMs -= 60_000
    const again = [(await host.open()).ids({ workerBits: 1 }), (await host.open()).ids({ workerBits: 1 })]
    for (const ids of again) made.push(await settled(host, ids.next()), ...drain(ids))
    expect(new Set(made).size).toBe(made.length)
  })
})

describe('the horizon', () => {
  test('is stored before it is used, and nothing is made beyond it while the store is silent', async () => {
    const host = new Host()
    const hf = await host.open()
    const ids = hf.ids()
    const observer = await host.open()
    const made: bigint[] = [await settled(host, ids.next())]
    const stored = async (): Promise<number> =>
      (await observer.cell<{ untilMs: number }>(`holdfast/ids/ids/${ids.worker}`).read()).value?.untilMs ?? 0
    for (let i = 0; i < 200; i++) {
      await host.runtime.pass(97)
      const id = ids.tryNext()
      if (id === null) continue
      made.push(id)
      expect(ids.parts(id).timeMs).toBeLessThanOrEqual(await stored())
    }
    expect(made.length, 'it is moved in time').toBe(201)
    const untilMs = await stored()
    host.isSilent = true
    for (let i = 0; i < 200; i++) {
      host.runtime.sleep(97)
      const id = ids.tryNext()
      if (id !== null) expect(ids.parts(id).timeMs).toBeLessThanOrEqual(untilMs)
    }
    expect(ids.tryNext()).toBe(null)
    const failing = expect(ids.next()).rejects.toThrow(StoreUnreachableError)
    await host.runtime.pass(2_000)
    await failing
    host.isSilent = false
    made.push(await settled(host, ids.next()))
    expectRising(made)
  })

  test('a paused process and its heir make nothing twice', async () => {
    const host = new Host()
    const options = { workerBits: 1 }
    const [paused, other] = [(await host.open()).ids(options), (await host.open()).ids(options)]
    const made = [await settled(host, paused.next()), await settled(host, other.next())]
    const slot = paused.worker
    // Paused for longer than its lease: no timer of anybody fires meanwhile.
    host.runtime.sleep(TTL_MS)
    expect(paused.tryNext(), 'the lease is lost, by its own clock').toBe(null)
    expect(other.tryNext()).toBe(null)
    const heirs = [(await host.open()).ids(options), (await host.open()).ids(options)]
    for (const heir of heirs) made.push(await settled(host, heir.next()), ...drain(heir))
    expect(heirs.map(({ worker }) => worker)).toContain(slot)
    made.push(...drain(paused), ...drain(other))
    await heirs[0]?.close()
    made.push(await settled(host, paused.next()), ...drain(paused))
    expect(new Set(made).size).toBe(made.length)
  })

  test('a horizon that the store refused is not used: two that both believe in a slot repeat nothing', async () => {
    const host = new Host()
    // The store has forgotten the place of the first, and whoever should tell the first of it does not.
    const deaf = new FaultyDriver(memory({ name: host.name, runtime: host.runtime }), {
      before(call, method) {
        if (method === 'touch') throw lost(call)
      },
    })
    deaf.watch = async () => () => undefined
    const options = { workerBits: 1, sequenceBits: 4, ttlMs: 600_000 }
    const first = (await holdfast(deaf, { runtime: host.runtime })).ids(options)
    const other = await host.open()
    const [made] = await Promise.all([first.next(), host.runtime.pass(20)])
    const all = [made]
    const neighbour = other.ids(options)
    await settled(host, neighbour.next())
    await other.break(`holdfast/ids/ids/${first.worker}`, { now: true })
    const second = other.ids(options)
    all.push(await settled(host, second.next()))
    expect(second.worker).toBe(first.worker)
    for (let ms = 0; ms < 30_000; ms += 10) {
      await host.runtime.pass(10)
      all.push(...drain(first), ...drain(second))
    }
    expect(all.length).toBeGreaterThan(1_000)
    expect(new Set(all).size).toBe(all.length)
  })

  test('a slot that is given back unused forgets nothing of what its last owner had used', async () => {
    const host = new Host()
    const options = { workerBits: 1 }
    const crashed = [(await host.open()).ids(options), (await host.open()).ids(options)]
    const made: bigint[] = []
    for (const ids of crashed) made.push(await settled(host, ids.next()))
    host.runtime.sleep(TTL_MS)
    host.runtime.wallMs -= TTL_MS + 5_000
    for (let i = 0; i < 4; i++) {
      const brief = (await host.open()).ids(options)
      // It is closed while it gets its slot.
      const waiting = expect(brief.next()).rejects.toThrow(ClosedError)
      await Promise.all([brief.close(), host.runtime.pass(20), waiting])
    }
    const usedMs = crashed.map((ids, i) => ids.parts(made[i] as bigint).timeMs)
    for (const ids of [(await host.open()).ids(options), (await host.open()).ids(options)]) {
      const id = await settled(host, ids.next())
      expect(ids.parts(id).timeMs).toBeGreaterThan(Math.max(...usedMs))
    }
  })

  test('a slot that a wrong clock has used is left alone', async () => {
    const host = new Host()
    const observer = await host.open()
    for (const worker of [0, 1]) {
      const horizon = observer.cell<{ untilMs: number }>(`holdfast/ids/ids/${worker}`)
      await horizon.write({ untilMs: host.runtime.wallMs + (worker === 0 ? 1e12 : 5_000) }, 0n)
    }
    const [ids, none] = [(await host.open()).ids({ workerBits: 1 }), (await host.open()).ids({ workerBits: 1 })]
    const id = await settled(host, ids.next())
    expect(ids.parts(id)).toMatchObject({ worker: 1 })
    expect(ids.parts(id).timeMs).toBeGreaterThan(host.runtime.wallMs - 20 + 5_000)
    await expect(settled(host, none.next())).rejects.toThrow(/all 2 workers are in use/)
  })

  test('when the bits for the time have run out there is an error, and no wrap', async () => {
    const host = new Host()
    const epochMs = host.runtime.wallMs - 2 ** 32 + 3_000
    const ids = (await host.open()).ids({ timeBits: 32, epochMs })
    const last = await settled(host, ids.next())
    expect(ids.yearsLeft).toBeLessThan(0.001)
    host.runtime.sleep(3_000)
    expect(ids.tryNext()).toBe(null)
    await expect(ids.next()).rejects.toThrow(UsageError)
    expect(last < 2n ** 54n).toBe(true)
  })
})
