/**
 * Which servers vote: clients that were given others are refused, lost ones are taken in again, and the servers change
 * while clients work.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  initRedlock,
  redlock,
  type RedlockDriver,
  type RedlockOptions,
  resizeRedlock,
} from '../../../src/stores/redlock/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { type Holdfast, HoldfastError, StoreError, StoreUnreachableError } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { until } from '../../../../holdfast-lab/src/testbed/until.ts'
import { ask, entry, fresh, urlOf } from './rig.ts'

const MAX_TTL_MS = 1_000
/** A client looks at servers that it can't ask every two seconds or sooner. */
const WATCHED_MS = 3_500
const OPTIONS: RedlockOptions = { nodeTimeoutMs: 500 }

let bed: Testbed
let servers: Server[]
let open: { close(): Promise<void> }[] = []

beforeAll(() => requireServers(['redis']))

beforeEach(async () => {
  bed = await testbed()
  servers = [...(await bed.redlock(5)).servers]
})

afterEach(async () => {
  for (const one of open) await one.close()
  open = []
  await bed.close()
})

const some = (...numbers: number[]): Server[] => numbers.map((n) => servers[n] as Server)

function client(of: readonly Server[], options: RedlockOptions = OPTIONS): RedlockDriver {
  const driver = redlock(urlOf(of), options)
  open.push(driver)
  return driver
}

async function restartEmpty(server: Server): Promise<void> {
  await server.kill()
  await server.restart({ keepData: false })
}

/** Many clients on one line, each with its own list of servers; who is inside together with another is counted. */
class Crowd {
  inside = 0
  most = 0
  entered = 0
  lastToken = 0n
  readonly #running: Promise<void>[] = []
  readonly #stop = new AbortController()
  readonly errors: Error[] = []
  #fell = false

  join(hf: Holdfast, line: string): void {
    this.#running.push(this.#work(hf, line))
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
    expect(this.most, 'two held at once').toBeLessThanOrEqual(1)
    expect(this.#fell, 'a token fell').toBe(false)
  }

  async #work(hf: Holdfast, line: string): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const held = await hf.mutex(line, { ttlMs: MAX_TTL_MS, handovers: 0 }).acquire({ waitMs: 5_000 })
        this.inside++
        this.entered++
        this.most = Math.max(this.most, this.inside)
        this.#fell ||= held.token <= this.lastToken
        this.lastToken = held.token
        await new Promise((resolve) => setTimeout(resolve, 2))
        this.inside--
        await held.release()
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error
        this.errors.push(error)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
}

function crowdOn(lists: readonly (readonly Server[])[], line: string): Crowd {
  const crowd = new Crowd()
  for (const list of lists) {
    const hf = makeInstance(client(list), {})
    open.push(hf)
    crowd.join(hf, line)
  }
  return crowd
}

describe('clients that were given other servers', () => {
  test('A, B, C beside C, D, E: the second is refused, and told which servers there are', async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: MAX_TTL_MS })
    const [right, wrong] = [client(some(0, 1, 2)), client(some(2, 3, 4))]
    const line = fresh()
    expect(await right.enter(entry(line, { ttlMs: 1_000 }), false)).not.toBeNull()
    const refusal = wrong.enter(entry(line, { ttlMs: 1_000 }), false)
    await expect(refusal).rejects.toThrow(StoreError)
    await expect(refusal).rejects.not.toThrow(StoreUnreachableError)
    await expect(refusal).rejects.toThrow(/2 of them are needed, and it knows 1.*holdfast redlock resize/)
    await expect(refusal).rejects.toThrow(`127.0.0.1:${servers[0]?.port}`)
  })

  test('the same without a first start: only one of them begins', async () => {
    const options = { ...OPTIONS, maxTtlMs: MAX_TTL_MS, connectTimeoutMs: 2_000 }
    const [one, other] = [client(some(0, 1, 2), options), client(some(2, 3, 4), options)]
    const line = fresh()
    const tries = async (driver: RedlockDriver): Promise<boolean> => {
      for (let n = 0; n < 40; n++) {
        try {
          const place = await driver.enter(entry(line, { ttlMs: 1_000 }), false)
          if (place !== null) return true
        } catch (error) {
          expect(error).toBeInstanceOf(StoreError)
        }
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      return false
    }
    const served = await Promise.all([tries(one), tries(other)])
    expect(served.filter(Boolean).length).toBeLessThanOrEqual(1)
  })

  test('five instead of three, one cut off: three of the three count, whoever knows of more', async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: 10_000 })
    const [few, many] = [client(some(0, 1, 2)), client(servers)]
    const line = fresh()
    await many.open()
    // The one that both know and that voted is away: by three of five the second would hold.
    servers[2]?.pause()
    expect(await few.enter(entry(line), false)).not.toBeNull()
    servers[2]?.resume()
    servers[0]?.pause()
    servers[1]?.pause()
    await expect(many.enter(entry(line), false)).rejects.toThrow(StoreUnreachableError)
    servers[0]?.resume()
    servers[1]?.resume()
    expect(await many.enter(entry(line), false)).toBeNull()
  })

  test('a server of another deployment does not vote, and the others do', async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: MAX_TTL_MS })
    await initRedlock(urlOf(some(3, 4)), { maxTtlMs: MAX_TTL_MS })
    const mixed = client(some(3, 0, 1))
    expect(await mixed.enter(entry(fresh(), { ttlMs: 1_000 }), false)).not.toBeNull()
    await servers[1]?.kill()
    await until(
      async () => {
        await expect(mixed.enter(entry(fresh(), { ttlMs: 1_000 }), false)).rejects.toThrow(
          /belongs to another deployment/,
        )
      },
      { what: 'it is told' },
    )
  })
})

describe('a server that lost its data', () => {
  test('is taken in by a client that starts later, and is a spare again', async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: MAX_TTL_MS })
    await restartEmpty(servers[2] as Server)
    const late = client(some(0, 1, 2))
    await late.open()
    await until(async () => expect(await ask(servers[2] as Server, 'GET', 'holdfast:redlock')).toMatch(/hfm/), {
      what: 'the server is one of the deployment again',
    })
    await servers[0]?.kill()
    await until(async () => expect(await late.enter(entry(fresh(), { ttlMs: 1_000 }), false)).not.toBeNull(), {
      what: 'the server votes',
    })
  })

  test('is not taken in by a client that was given another in its place', async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: 10_000 })
    const [right, other] = [client(some(0, 1, 2)), client(some(0, 1, 3))]
    const line = fresh()
    servers[1]?.pause()
    expect(await right.enter(entry(line), false)).not.toBeNull()
    servers[1]?.resume()
    servers[0]?.pause()
    for (let n = 0; n < 5; n++) {
      try {
        expect(await other.enter(entry(line), false)).toBeNull()
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnreachableError)
      }
    }
    servers[0]?.resume()
  })

  test('and another, given in the place of one that is well: nothing is founded anew', async () => {
    const { deployment } = await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: MAX_TTL_MS })
    await restartEmpty(servers[0] as Server)
    // It can't know that C is well, and that most did not forget.
    client(some(0, 1, 3))
      .open()
      .catch(() => undefined)
    await sleep(WATCHED_MS)
    for (const server of some(1, 2)) expect(await ask(server, 'GET', 'holdfast:redlock')).toContain(`.${deployment}.`)
    expect(await ask(servers[3] as Server, 'EXISTS', 'holdfast:redlock')).toBe(':0\r\n')
  })

  test('and was let go before: clients that still have the old list do not put it back', async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: MAX_TTL_MS })
    await resizeRedlock(urlOf(some(0, 1, 3)), OPTIONS)
    await restartEmpty(servers[2] as Server)
    await client(some(0, 1, 2)).open()
    await sleep(WATCHED_MS)
    expect(await ask(servers[0] as Server, 'GET', 'holdfast:redlock:servers')).toContain(
      `127.0.0.1:${servers[3]?.port}`,
    )
  })
})

describe('the servers change while clients work', () => {
  test('one is replaced by an empty one: never two, and the lock is served all the time', {
    timeout: 120_000,
  }, async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: MAX_TTL_MS })
    const line = fresh()
    const crowd = crowdOn([some(0, 1, 2), some(0, 1, 3), some(0, 1, 2, 3)], line)
    await until(async () => expect(crowd.entered).toBeGreaterThan(50), { what: 'the clients work' })
    await servers[2]?.kill()
    const done = await resizeRedlock(urlOf(some(0, 1, 3)), OPTIONS)
    expect(done).toMatchObject({ servers: 3, changes: 2 })
    const { entered } = crowd
    await until(async () => expect(crowd.entered).toBeGreaterThan(entered + 50), { what: 'the clients go on' })
    // The new one votes.
    await servers[0]?.kill()
    const later = crowd.entered
    await until(async () => expect(crowd.entered).toBeGreaterThan(later + 50), {
      what: 'the clients go on with the new one',
    })
    await crowd.end()
  })

  test('three become five, and five become three: never two', { timeout: 120_000 }, async () => {
    await initRedlock(urlOf(some(0, 1, 2)), { maxTtlMs: MAX_TTL_MS })
    const line = fresh()
    const cell = redlock(urlOf(servers), OPTIONS)
    open.push(cell)
    await cell.swap('kept', { version: 0n, next: 'value', ttlMs: 0, nonce: 'n'.repeat(16) })
    const crowd = crowdOn([some(0, 1, 2), servers, servers], line)
    await until(async () => expect(crowd.entered).toBeGreaterThan(50), { what: 'the clients work' })
    expect(await resizeRedlock(urlOf(servers), OPTIONS)).toMatchObject({ servers: 5, changes: 2 })
    let { entered } = crowd
    await until(async () => expect(crowd.entered).toBeGreaterThan(entered + 50), { what: 'the clients go on' })
    await servers[0]?.kill()
    await servers[1]?.kill()
    await until(
      async () => expect(await client(servers).enter(entry(fresh(), { ttlMs: 1_000 }), false)).not.toBeNull(),
      {
        what: 'three of five are enough',
      },
    )
    await servers[0]?.restart({ keepData: false })
    await servers[1]?.restart({ keepData: false })
    await until(async () => expect(await resizeRedlock(urlOf(some(2, 3, 4)), OPTIONS)).toMatchObject({ servers: 3 }), {
      what: 'five become three',
      withinMs: 60_000,
    })
    ;({ entered } = crowd)
    await until(async () => expect(crowd.entered).toBeGreaterThan(entered + 50), {
      what: 'the clients go on by three others',
    })
    expect((await cell.swap('kept', null)).value).toBe('value')
    await crowd.end()
  })
})
