/** Servers that forget: two holders under the classic algorithm, and one here. */
import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Entry, Place } from '../../../src/contract/driver.ts'
import { initRedlock, redlock, type RedlockDriver } from '../../../src/stores/redlock/index.ts'
import { StoreUnreachableError, UsageError } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { until } from '../../../../holdfast-lab/src/testbed/until.ts'
import { ask, classicVotes, entry, fresh, urlOf } from './rig.ts'

let bed: Testbed
let servers: Server[]
let url: string
let deployments = 0
const open: RedlockDriver[] = []

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  servers = [...(await bed.redlock(5, { appendonly: 'always' })).servers]
  url = urlOf(servers)
})

afterAll(async () => {
  for (const driver of open) await driver.close()
  await bed?.close()
})

/** A deployment of its own on the same servers: another prefix has another marker. */
async function deployment(maxTtlMs: number): Promise<() => Promise<RedlockDriver>> {
  const options = { prefix: `d${deployments++}`, nodeTimeoutMs: 500 }
  await initRedlock(url, { ...options, maxTtlMs })
  return async () => {
    const driver = redlock(url, options)
    open.push(driver)
    await driver.open()
    return driver
  }
}

/**
 * Enters while only the first three servers answer: who holds then has a bare majority. What the others find in their
 * sockets when they go on is a vote like any other, and would keep rivals out whatever the third one forgets: it is
 * taken away.
 */
async function enterByThree(driver: RedlockDriver, at: Entry): Promise<Place | null> {
  const frozen = servers.slice(3)
  for (const server of frozen) server.pause()
  try {
    return await driver.enter(at, false)
  } finally {
    for (const server of frozen) server.resume()
    for (const end = performance.now() + 500; performance.now() < end; await pause(20)) {
      for (const server of frozen) {
        const keys = (await ask(server, 'KEYS', `*${at.line}*`)).match(/\S+/g) ?? []
        for (const key of keys.filter((word) => word.includes(at.line))) await ask(server, 'DEL', key)
      }
    }
  }
}

/** How long those hold that must not lose their lock while another tries. */
const HELD_MS = 60_000

/**
 * It may not be granted; whether it is refused or told that too few vote does not matter. Tried for long enough that a
 * server which has just come back is connected, and would be counted if it voted.
 */
async function expectRefused(driver: RedlockDriver, line: string, ttlMs = 10_000, forMs = 3_000): Promise<void> {
  for (const end = performance.now() + forMs; performance.now() < end; await pause(50)) {
    try {
      const place = await driver.enter(entry(line, { ttlMs }), false)
      expect(place, 'a second holder').toBeNull()
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnreachableError)
    }
  }
}

const third = (): Server => servers[2] as Server

async function restartEmpty(server: Server): Promise<void> {
  await server.kill()
  await server.restart({ keepData: false })
}

/** The part of the append-only file behind this size is lost, as by a power cut before it was written. */
async function restartCut(server: Server, file: string, bytes: number): Promise<void> {
  await server.kill()
  await truncate(file, bytes)
  await server.restart({ keepData: true })
}

async function appendOnlyFile(server: Server): Promise<{ file: string; bytes: number }> {
  const folder = join(server.data, 'appendonlydir')
  const name = (await readdir(folder)).find((one) => one.endsWith('.incr.aof')) ?? ''
  const file = join(folder, name)
  return { file, bytes: (await stat(file)).size }
}

describe('a server that forgot', () => {
  test('restarted empty: two holders by the classic algorithm, one here', async () => {
    const key = fresh()
    expect(await classicVotes(servers.slice(0, 3), key, 10_000)).toBe(3)
    const connect = await deployment(HELD_MS)
    const [a, b] = [await connect(), await connect()]
    const line = fresh()
    const mine = entry(line, { ttlMs: HELD_MS })
    const held = await enterByThree(a, mine)
    expect(held).not.toBeNull()
    await restartEmpty(third())
    expect(await classicVotes(servers, key, 10_000), 'the classic algorithm has a second majority').toBe(3)
    await expectRefused(b, line)
    await expectRefused(await connect(), line)
    await a.leave(mine)
    const next = entry(line)
    await until(async () => expect(await b.enter(next, true)).toMatchObject({ ahead: 0 }), { what: 'b is served' })
    const [place] = await b.touch([next])
    expect(place?.token).toBeGreaterThan(held?.token ?? 0n)
  })

  test('restarted with a cut append-only file: the same', async () => {
    const connect = await deployment(HELD_MS)
    const [a, b] = [await connect(), await connect()]
    const [key, line] = [fresh(), fresh()]
    const { file, bytes } = await appendOnlyFile(third())
    expect(await classicVotes(servers.slice(0, 3), key, 10_000)).toBe(3)
    const held = await enterByThree(a, entry(line, { ttlMs: HELD_MS }))
    expect(held).not.toBeNull()
    await restartCut(third(), file, bytes)
    // The marker was written before the cut, and is still there: it is the run that gives it away.
    expect(await classicVotes(servers, key, 10_000)).toBe(3)
    await expectRefused(b, line)
    await expectRefused(await connect(), line)
  })

  test('FLUSHALL, without a restart: the same', async () => {
    const connect = await deployment(HELD_MS)
    const [a, b] = [await connect(), await connect()]
    const line = fresh()
    expect(await enterByThree(a, entry(line, { ttlMs: HELD_MS }))).not.toBeNull()
    await ask(third(), 'FLUSHALL')
    await expectRefused(b, line)
    await expectRefused(await connect(), line)
  })

  test('a majority at once: the holder is told, nobody holds for the longest lease, tokens still rise', async () => {
    const maxTtlMs = 2_000
    const connect = await deployment(maxTtlMs)
    const [a, b] = [await connect(), await connect()]
    const line = fresh()
    const mine = entry(line, { ttlMs: maxTtlMs })
    const held = await a.enter(mine, false)
    expect(held).not.toBeNull()
    const at = performance.now()
    for (const server of servers.slice(0, 3)) await restartEmpty(server)
    await expectRefused(b, line, maxTtlMs, maxTtlMs / 10)
    await until(
      async () => {
        try {
          expect((await a.touch([mine]))[0]).toBeNull()
        } catch (error) {
          // Too few servers vote: by its own clock the holder knows as well.
          expect(error).toBeInstanceOf(StoreUnreachableError)
        }
      },
      { what: 'the holder can not renew' },
    )
    const next = entry(line, { ttlMs: maxTtlMs })
    await until(async () => expect(await b.enter(next, true)).toMatchObject({ ahead: 0 }), { what: 'b is served' })
    expect(performance.now() - at).toBeGreaterThan(maxTtlMs)
    const [place] = await b.touch([next])
    expect(place?.token).toBeGreaterThan(held?.token ?? 0n)
  })
})

describe('the longest lease', () => {
  test('is one constant: another one, and a longer lease, are refused', async () => {
    const connect = await deployment(5_000)
    const driver = await connect()
    await expect(driver.enter(entry(fresh(), { ttlMs: 5_001 }), false)).rejects.toThrow(UsageError)
    const other = redlock(url, { prefix: `d${deployments - 1}`, maxTtlMs: 6_000 })
    open.push(other)
    await expect(other.open()).rejects.toThrow(/longest lease \(maxTtlMs\) is 5000 ms, not 6000 ms/)
  })

  test('init is for a first start only; without it votes come one longest lease later', async () => {
    const options = { prefix: 'late', maxTtlMs: 1_000 }
    const driver = redlock(url, options)
    open.push(driver)
    await driver.open()
    await expect(driver.enter(entry(fresh(), { ttlMs: 1_000 }), false)).rejects.toThrow(/holdfast redlock init/)
    expect(await initRedlock(url, options)).toMatchObject({ servers: 5, maxTtlMs: 1_000, already: true })
    await ask(third(), 'DEL', 'late:redlock')
    await expect(initRedlock(url, options)).rejects.toThrow(/no first start/)
    const at = entry(fresh(), { ttlMs: 1_000 })
    await until(async () => expect(await driver.enter(at, false)).not.toBeNull(), { what: 'votes are given' })
  })

  test('one server under two names is found out', async () => {
    const port = third().port
    const names = (other: string): string[] => [`redis://127.0.0.1:${port}`, `redis://${other}:${port}`]
    expect(() => redlock([...names('localhost'), servers[0]?.url ?? ''])).toThrow('given twice')
    // No rule of names knows this one: the server itself is asked who it is.
    const driver = redlock([...names('127.1'), servers[0]?.url ?? ''], {
      prefix: 'twice',
      maxTtlMs: 1_000,
    })
    open.push(driver)
    await driver.open()
    await expect(driver.enter(entry(fresh(), { ttlMs: 1_000 }), false)).rejects.toThrow(/gives no votes|same server/)
  })
})
