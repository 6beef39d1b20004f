/**
 * An event loop that is blocked for longer than the lease: with a heartbeat in a worker the hold is kept, and told
 * exactly when not.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Holdfast, holdfast, UsageError } from '../../src/index.ts'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { testFolder } from '../stores/sqlite/folder.ts'

await requireServers(['redis', 'etcd', 'zookeeper', 'postgres', 'mariadb'])
const bed = await testbed()
afterAll(() => bed.close())

const PROGRAM = fileURLToPath(new URL('./blocker.js', import.meta.url))

interface Told {
  readonly kind: string
  readonly [key: string]: unknown
}

class Blocker {
  readonly #child: ChildProcess
  readonly #told: Told[] = []
  #look = (): void => {}

  constructor(
    url: string,
    line: string,
    times: { ttlMs: number; blockMs: number; silenceMs: number },
    heartbeat: string,
  ) {
    const { ttlMs, blockMs, silenceMs } = times
    const args = [url, line, String(ttlMs), String(blockMs), String(silenceMs), heartbeat]
    this.#child = fork(PROGRAM, args, { execArgv: [] })
    this.#child.on('message', (told: Told) => {
      this.#told.push(told)
      this.#look()
    })
    this.#child.on('exit', () => this.#look())
  }

  tells(kind: string): Promise<Told> {
    return new Promise((resolve, reject) => {
      this.#look = () => {
        const told = this.#told.find((one) => one.kind === kind)
        if (told !== undefined) resolve(told)
        else if (this.#child.exitCode !== null) reject(new Error(`it ended before it told "${kind}"`))
      }
      this.#look()
    })
  }
}

const URLS: Record<string, () => Promise<string>> = {
  sqlite: async () => `sqlite:${join(testFolder(), 'locks.db')}`,
  redis: async () => (await bed.redis()).url,
  etcd: async () => (await bed.etcd()).url,
  zookeeper: async () => (await bed.zookeeper()).url,
  postgres: async () => (await bed.postgres()).url,
  mysql: async () => (await bed.mariadb()).url,
}

describe.each(Object.keys(URLS))('%s', (name) => {
  let url = ''
  let hf: Holdfast
  beforeAll(async () => {
    url = await (URLS[name] as () => Promise<string>)()
    hf = await holdfast(url)
    await hf.setup()
  }, 60_000)
  afterAll(() => hf.close())

  test.concurrent('blocked for three leases, the hold is kept and no false loss is told', {
    timeout: 90_000,
  }, async () => {
    const ttlMs = Math.max(hf.traits.ttlMsMin, 2_000)
    const blocker = new Blocker(url, 'blocked', { ttlMs, blockMs: 3 * ttlMs, silenceMs: 60_000 }, 'worker')
    await blocker.tells('held')
    const waiting = hf.mutex('blocked').acquire({ waitMs: 60_000 })
    const after = blocker.tells('after')
    expect(await Promise.race([waiting.then(() => 'stolen'), after.then(() => 'kept')])).toBe('kept')
    expect(await after).toMatchObject({ code: 'held', state: 'held' })
    expect(await blocker.tells('released')).toMatchObject({ ours: true })
    await (await waiting).release()
  })

  test.concurrent('silent for longer than silenceMs, it is given up, others are served, and it knows', {
    timeout: 90_000,
  }, async () => {
    const ttlMs = Math.max(hf.traits.ttlMsMin, 1_000)
    const blocker = new Blocker(url, 'silent', { ttlMs, blockMs: 7_000, silenceMs: 2_000 }, 'worker')
    const { token } = await blocker.tells('held')
    const held = await hf.mutex('silent').acquire({ waitMs: 30_000 })
    expect(held.token).toBeGreaterThan(BigInt(String(token)))
    const after = await blocker.tells('after')
    expect(after).toMatchObject({ code: 'HF_LOST', state: 'lost' })
    expect(after.message).toContain('silenceMs')
    expect(await blocker.tells('released')).toMatchObject({ ours: false })
    held.assertHeld()
    await held.release()
  })
})

test('a store that can not be opened is told as without a worker', async () => {
  await expect(holdfast('redis://127.0.0.1:1', { heartbeat: 'worker' })).rejects.toMatchObject({
    code: 'HF_UNREACHABLE',
  })
  await expect(holdfast('memory:', { heartbeat: 'worker' })).rejects.toBeInstanceOf(UsageError)
})

test('an idle worker keeps no process from ending', async () => {
  const program = `
    import { holdfast } from ${JSON.stringify(new URL('../../build/src/index.js', import.meta.url).href)}
    const hf = await holdfast(${JSON.stringify(`sqlite:${join(testFolder(), 'idle.db')}`)}, { heartbeat: 'worker' })
    const held = await hf.mutex('x').acquire()
    held.assertHeld()
  `
  const { execFile } = await import('node:child_process')
  const code = await new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', program], { timeout: 30_000 }, (error) =>
      resolve(error === null ? 0 : error),
    )
  })
  expect(code).toBe(0)
})
