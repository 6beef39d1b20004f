import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processEntry } from '../../src/testbed/proc.ts'
import { redisAsk } from '../../src/testbed/redis.ts'
import { requireServers, skipped } from '../../src/testbed/require.ts'
import { type Testbed, testbed } from '../../src/testbed/testbed.ts'

const ask = (port: number, ...command: string[]): Promise<string> => redisAsk(port, '', command)

async function stateOf(pid: number, state: string): Promise<void> {
  await expect.poll(async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.[0]).toBe(state)
}

describe.skipIf(skipped('redis'))('a real redis-server', () => {
  let bed: Testbed

  beforeAll(async () => {
    await requireServers(['redis'])
    bed = await testbed()
  })

  afterAll(() => bed?.close())

  test('starts, serves, and stops', async () => {
    const server = await bed.redis()
    const pid = server.pid
    expect(server.running).toBe(true)
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`)
    expect(await ask(server.port, 'SET', 'a', '1')).toBe('+OK\r\n')
    await server.stop()
    expect(server.running).toBe(false)
    expect(processEntry(pid)).toBeNull()
    await expect(ask(server.port, 'PING')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    await server.stop()
  })

  test('paused it keeps its connections and is silent; resumed it goes on', async () => {
    const server = await bed.redis()
    server.pause()
    let answered = false
    const answer = ask(server.port, 'PING').then((said) => {
      answered = true
      return said
    })
    await stateOf(server.pid, 'T')
    expect(answered).toBe(false)
    server.resume()
    expect(await answer).toBe('+PONG\r\n')
    server.pause()
    await server.stop()
    expect(server.running).toBe(false)
    expect(() => server.pause()).toThrow('not running')
  })

  test('killed and restarted: with an append-only file the data is there, without or told so it is not', async () => {
    const durable = await bed.redis({ appendonly: 'always' })
    await ask(durable.port, 'SET', 'kept', '1')
    const first = durable.pid
    await durable.kill()
    expect(durable.running).toBe(false)
    await durable.restart({ keepData: true })
    expect(durable.pid).not.toBe(first)
    expect(await ask(durable.port, 'GET', 'kept')).toBe('$1\r\n1\r\n')
    await durable.restart({ keepData: false })
    expect(await ask(durable.port, 'GET', 'kept')).toBe('$-1\r\n')
    const forgetful = await bed.redis()
    await ask(forgetful.port, 'SET', 'kept', '1')
    await forgetful.kill()
    await forgetful.start()
    expect(await ask(forgetful.port, 'GET', 'kept')).toBe('$-1\r\n')
  })

  test('takes a password with any bytes in it', async () => {
    const requirepass = 'p "w\\ö:@/#'
    const server = await bed.redis({ requirepass })
    expect(server.url).toBe(`redis://default:${encodeURIComponent(requirepass)}@127.0.0.1:${server.port}`)
    expect(await redisAsk(server.port, requirepass, ['ECHO', 'in'])).toBe('$2\r\nin\r\n')
    expect(await ask(server.port, 'PING')).toContain('NOAUTH')
  })

  test('what fails to start says why, with the end of its log', async () => {
    const failed = bed.redis({ config: { 'no-such-directive': 'x' } })
    await expect(failed).rejects.toThrow(/exit code 1[^]*no-such-directive/)
    await expect(failed).rejects.toMatchObject({ code: 'HF_TESTBED' })
  })

  test('redlock: independent servers under one URL', async () => {
    const group = await bed.redlock(3)
    expect(group.url).toBe(`redlock://${group.servers.map((server) => `127.0.0.1:${server.port}`).join(',')}`)
    for (const server of group.servers) expect(await ask(server.port, 'ROLE')).toContain('*3')
    await expect(bed.redlock(0)).rejects.toMatchObject({ code: 'HF_USAGE' })
  })

  test('close stops everything, also what was started at the same moment, and removes the folder', async () => {
    const other = await testbed()
    const server = await other.redis()
    expect((await stat(other.dir)).isDirectory()).toBe(true)
    const another = await other.redis()
    const late = [other.redis(), another.restart({ keepData: true })].map((start) =>
      expect(start).rejects.toThrow('closed'),
    )
    await Promise.all([other.close(), other.close()])
    expect(existsSync(other.dir)).toBe(false)
    expect(processEntry(server.pid)).toBeNull()
    expect(processEntry(another.pid)).toBeNull()
    await Promise.all(late)
    await expect(other.redis()).rejects.toThrow('closed')
    await expect(server.start()).rejects.toThrow('closed')
  })
})
