/** A primary and its replica behind one address: what a fail-over loses, and what it does not. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ServerKind } from '../../../../holdfast-lab/src/testbed/needs.ts'
import type { ReplicaPair } from '../../../../holdfast-lab/src/testbed/replica-pair.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { StoreError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import type { Driver } from '../../../src/contract/driver.ts'
import { type Holdfast, holdfast, type Held } from '../../../src/index.ts'
import { openTarget } from '../../fence/target.ts'

export interface FailoverKind {
  readonly server: ServerKind
  readonly pair: (bed: Testbed, waits: boolean) => Promise<ReplicaPair>
  readonly open: (url: string, options: { readonly timeoutMs: number }) => Driver
  readonly guard: 'pg' | 'mysql2'
  /** Makes the guard's table on this server. */
  readonly makeGuard: (server: Server) => Promise<unknown>
  /** The URL of a server itself, for a user that may not write to a replica. */
  readonly direct: (server: Server) => string
}

/** For an instance of which nothing but an outage is expected; it is told after a few of these. */
const IMPATIENT_MS = 250
/** Nothing lapses within a test. */
const LONG = { ttlMs: 120_000 }

export class Stage {
  readonly #kind: FailoverKind
  readonly #instances: Holdfast[] = []
  readonly #pairs: ReplicaPair[] = []
  #bed: Testbed | null = null

  constructor(kind: FailoverKind) {
    this.#kind = kind
    beforeAll(async () => {
      await requireServers([kind.server])
      this.#bed = await testbed()
    }, 600_000)
    afterAll(async () => {
      for (const pair of this.#pairs) {
        // What waits for a replica that is gone would keep the servers from ending in order.
        await pair.stream.close()
        for (const server of pair.servers) await server.kill()
      }
      await Promise.allSettled(this.#instances.map((hf) => hf.close()))
      for (const pair of this.#pairs) pair.close()
      await this.#bed?.close()
    }, 60_000)
  }

  get bed(): Testbed {
    if (this.#bed === null) throw new Error('the testbed is not open yet')
    return this.#bed
  }

  async open(url: string, timeoutMs = 5_000): Promise<Holdfast> {
    const hf = await holdfast(this.#kind.open(url, { timeoutMs }))
    this.#instances.push(hf)
    return hf
  }

  /** Past the front, to the server itself. */
  direct(server: Server, timeoutMs?: number): Promise<Holdfast> {
    return this.open(this.#kind.direct(server), timeoutMs)
  }

  async pair(waits: boolean): Promise<ReplicaPair> {
    return this.keep(await this.#kind.pair(this.bed, waits))
  }

  /** A pair of the test's own making, set up and equal. */
  async keep(pair: ReplicaPair): Promise<ReplicaPair> {
    this.#pairs.push(pair)
    await (await this.open(pair.url)).setup()
    await this.#kind.makeGuard(pair.primary)
    await pair.caughtUp()
    return pair
  }
}

/** The lock, as soon as the store serves again and it is free; a holder that was refused asks again. */
async function soon(hf: Holdfast, name: string): Promise<Held> {
  let held: Held | null = null
  await expect
    .poll(
      async () => {
        held ??= await hf
          .mutex(name, LONG)
          .tryAcquire()
          .catch(() => null)
        return held !== null
      },
      { timeout: 60_000 },
    )
    .toBe(true)
  return held as unknown as Held
}

export function failsOver(kind: FailoverKind): Stage {
  const stage = new Stage(kind)

  test('asynchronous: what the replica had not heard of is lost, tokens rise, the guard refuses the old', async () => {
    const pair = await stage.pair(false)
    const [a, b] = [await stage.open(pair.url), await stage.open(pair.url)]
    const kept = await a.mutex('kept', LONG).acquire()
    const queue = await a.mutex('queue', LONG).acquire()
    await a.cell('cell').update(() => 'heard')
    await pair.caughtUp()
    await pair.stream.set({ toClient: 'hold' })
    // All of this is acknowledged, and nobody but the primary knows of it.
    const lost = await a.mutex('lost', LONG).acquire()
    const told = await a.mutex('told', { ttlMs: 3_000 }).acquire()
    await a.cell('cell').update(() => 'unheard')
    const waiting = b.mutex('queue', LONG).acquire()
    await expect.poll(() => waiters(a, 'queue')).toBe(1)

    const old = pair.primary
    await pair.promote()
    const second = await soon(b, 'lost')
    lost.assertHeld()
    expect(second.token, 'two hold, and the newer one has the higher token').toBeGreaterThan(lost.token)
    const target = await openTarget(kind.guard, pair.url)
    await target.check('stock:42', second)
    await expect(target.check('stock:42', lost)).rejects.toMatchObject({ code: 'HF_STALE_TOKEN' })
    await target.close()
    // The own clock of the old holder knows of nothing: its release is confirmed, and frees nobody but itself.
    await lost.release()
    expect(await a.mutex('lost').tryAcquire(), 'the old holder does not free the new one').toBeNull()
    second.assertHeld()
    expect((await b.cell('cell').read()).value).toBe('heard')

    // A holder that is renewed hears of it; one that was replicated goes on; a waiter enters anew, and is served.
    await expect.poll(() => told.signal.aborted, { timeout: 30_000 }).toBe(true)
    expect(await b.mutex('kept').tryAcquire()).toBeNull()
    expect(await kept.release()).toBe(true)
    expect(await queue.release()).toBe(true)
    const next = await waiting
    expect(next.token).toBeGreaterThan(queue.token)

    // Two primaries: who still reaches the old one is served there.
    const split = await stage.direct(old)
    expect(await split.mutex('split').tryAcquire(), 'the old primary grants').not.toBeNull()
    expect(await b.mutex('split').tryAcquire(), 'and so does the new one').not.toBeNull()
    await pair.rejoin()
    await expect.poll(() => refusal(split, 'rejoined'), { timeout: 30_000 }).toMatch(/takes no writes.*primary/)
    expect(await b.mutex('lost').tryAcquire()).toBeNull()
    await second.release()
  })

  test('a replica that is waited for: what was granted is kept, and the old primary grants nothing', async () => {
    const pair = await stage.pair(true)
    const [a, b] = [await stage.open(pair.url), await stage.open(pair.url)]
    // Nobody waits here until the replica has it: that it was answered is enough.
    const kept = await a.mutex('kept', LONG).acquire()
    await pair.stream.set({ toClient: 'hold', toServer: 'hold' })
    const old = pair.primary
    await pair.promote()
    expect(await (await soon(b, 'other')).release()).toBe(true)
    kept.assertHeld()
    expect(await b.mutex('kept').tryAcquire()).toBeNull()
    expect(await kept.release()).toBe(true)
    const next = await soon(b, 'kept')
    expect(next.token).toBeGreaterThan(kept.token)
    // What is asked of the old primary is never answered: it waits for a replica that has left it.
    const split = await stage.direct(old, IMPATIENT_MS)
    await expect(split.mutex('fresh').tryAcquire()).rejects.toThrow(StoreUnreachableError)
    next.assertHeld()
    await next.release()
  })

  return stage
}

async function waiters(hf: Holdfast, name: string): Promise<number> {
  for await (const line of hf.list({ prefix: name })) if (line.name === name) return line.waiters.length
  return 0
}

async function refusal(hf: Holdfast, name: string): Promise<string> {
  try {
    await hf.mutex(name).tryAcquire()
    return 'granted'
  } catch (error) {
    if (error instanceof StoreError || error instanceof StoreUnreachableError) return error.message
    throw error
  }
}
