import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exchange } from '../../src/testbed/exchange.ts'
import { find } from '../../src/testbed/find.ts'
import type { ServerKind } from '../../src/testbed/needs.ts'
import { descendants } from '../../src/testbed/proc.ts'
import { redisAsk } from '../../src/testbed/redis.ts'
import { requireServers, skipped } from '../../src/testbed/require.ts'
import type { Server } from '../../src/testbed/server.ts'
import { type Testbed, testbed } from '../../src/testbed/testbed.ts'

let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis', 'etcd', 'zookeeper', 'postgres', 'pgbouncer', 'mariadb'])
  bed = await testbed()
}, 600_000)

afterAll(() => bed?.close())

function kind(name: ServerKind, tests: () => void): void {
  describe.skipIf(skipped(name))(name, () => {
    test('tells its version', async () => {
      expect((await find(name))?.version).toMatch(/^\d+\.\d+/)
    })
    tests()
  })
}

/** Stopped in order: by then nobody listens, and the process is gone. */
async function expectStop(server: Server): Promise<void> {
  await server.stop()
  expect(server.running).toBe(false)
  await expect(exchange({ port: server.port, done: () => true })).rejects.toMatchObject({ code: 'ECONNREFUSED' })
}

/** A crash and a restart on its data; then an empty one. */
async function expectRestarts(server: Server): Promise<void> {
  await server.kill()
  await server.start()
  await server.restart({ keepData: false })
  await expectStop(server)
}

kind('redis', () => {
  test('sentinel: promotes a replica when the primary is killed', async () => {
    const group = await bed.sentinel({ requirepass: 'secret' })
    expect(group.url).toMatch(/^redis\+sentinel:\/\/default:secret@127\.0\.0\.1:\d+,.*\/mymaster$/)
    expect(await group.currentPrimary()).toBe(group.primary)
    await group.primary.kill()
    const [sentinel] = group.sentinels
    await expect.poll(() => group.currentPrimary(sentinel), { timeout: 30_000 }).not.toBe(group.primary)
  })

  test('cluster: every node knows where a key lives', async () => {
    const group = await bed.cluster()
    expect(group.servers).toHaveLength(6)
    expect(group.url).toMatch(/^redis\+cluster:\/\/(127\.0\.0\.1:\d+,?){6}$/)
    const [first] = group.servers
    expect(await redisAsk(first?.port ?? 0, '', ['SET', 'foo', '1'])).toMatch(
      /^(\+OK|-MOVED 12182 127\.0\.0\.1:\d+)\r\n$/,
    )
  })
})

kind('etcd', () => {
  test('three members: two go on without the third, which comes back with its data', async () => {
    const group = await bed.etcd(3)
    const [a, b, c] = group.servers as [Server, Server, Server]
    expect(group.url).toBe(`etcd://127.0.0.1:${a.port},127.0.0.1:${b.port},127.0.0.1:${c.port}`)
    await a.kill()
    const put = JSON.stringify({ key: 'YQ==', value: 'MQ==' })
    await expect.poll(() => post(b.port, '/v3/kv/put', put), { timeout: 30_000 }).toContain('revision')
    await a.start()
    expect(await post(a.port, '/v3/kv/range', JSON.stringify({ key: 'YQ==' }))).toContain('MQ==')
    await expectStop(a)
  })

  test('one member, with a password', async () => {
    const { servers, url } = await bed.etcd(1, { rootPassword: 'p@ss' })
    const [server] = servers as [Server]
    expect(url).toBe(`etcd://root:p%40ss@127.0.0.1:${server.port}`)
    expect(await post(server.port, '/v3/kv/range', JSON.stringify({ key: 'YQ==' }))).toContain('user name is empty')
    const login = JSON.stringify({ name: 'root', password: 'p@ss' })
    expect(await post(server.port, '/v3/auth/authenticate', login)).toContain('token')
  })

  test('one member restarts, with data and empty', async () => {
    const [server] = (await bed.etcd()).servers as [Server]
    await expectRestarts(server)
  })
})

kind('zookeeper', () => {
  test('three servers have one leader; sessions are granted by the tick', async () => {
    const group = await bed.zookeeper(3)
    expect(group.url).toMatch(/^zookeeper:\/\/(127\.0\.0\.1:\d+,?){3}$/)
    const modes = await Promise.all(
      group.servers.map(async (server) => /Mode: (\w+)/.exec(await srvr(server.port))?.[1]),
    )
    expect(modes.map(String).sort()).toEqual(['follower', 'follower', 'leader'])
    // A session request of the jute protocol: 100 ms asked for, two ticks of 200 ms granted.
    const frame = Buffer.alloc(4 + 44)
    frame.writeInt32BE(44, 0)
    frame.writeInt32BE(100, 16)
    frame.writeInt32BE(16, 28)
    const [server] = group.servers as [Server]
    const answer = await exchange({ port: server.port, send: frame, done: (bytes) => bytes.length >= 40 })
    expect(answer.readInt32BE(8)).toBe(400)
    await expectStop(server)
  })

  test('one server restarts, with data and empty', async () => {
    const [server] = (await bed.zookeeper()).servers as [Server]
    await expectRestarts(server)
  })
})

kind('postgres', () => {
  test('pauses with its children, stops although a client stays connected, restarts with data and empty', async () => {
    const server = await bed.postgres()
    expect(server.url).toBe(`postgres://postgres@127.0.0.1:${server.port}/postgres`)
    const idle = connect(server.port, '127.0.0.1')
    idle.on('error', () => undefined)
    const login = Buffer.from('\0\0\0\u0017\0\u0003\0\0user\0postgres\0\0', 'latin1')
    await new Promise((resolve) => {
      idle.once('data', resolve)
      idle.write(login)
    })
    server.pause()
    const family = [server.pid, ...descendants(server.pid).map(({ pid }) => pid)]
    expect(family.length).toBeGreaterThan(2)
    // A worker that had just ended is a zombie until the paused server can take notice of that.
    await expect.poll(() => states(family).replaceAll('Z', '')).toMatch(/^T{3,}$/)
    server.resume()
    await server.ready()
    await expectStop(server)
    await server.start()
    await expectRestarts(server)
    idle.destroy()
  })
})

kind('pgbouncer', () => {
  test('a pooler in front of a server lets in, restarts and stops', async () => {
    const pooler = await bed.pgbouncer(await bed.postgres())
    expect(pooler.url).toBe(`postgres://postgres@127.0.0.1:${pooler.port}/postgres`)
    await expectRestarts(pooler)
  })
})

kind('mariadb', () => {
  test('lets in, restarts with data and empty, and stops', async () => {
    const server = await bed.mariadb()
    expect(server.url).toBe(`mysql://root@127.0.0.1:${server.port}/test`)
    const greeting = await exchange({ port: server.port, done: (bytes) => bytes.length > 20 })
    expect(greeting.toString('latin1')).toContain('MariaDB')
    await expectRestarts(server)
  })
})

/** One letter for each process: T is stopped by a signal. */
function states(pids: readonly number[]): string {
  return pids.map((pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.[0]).join('')
}

async function srvr(port: number): Promise<string> {
  return (await exchange({ port, send: 'srvr', done: (bytes) => bytes.includes('Node count') })).toString()
}

/** The answer's body, whatever its status. */
function post(port: number, path: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent: false }, (response) => {
      let said = ''
      response.on('data', (bytes: Buffer) => {
        said += bytes.toString()
      })
      response.on('end', () => resolve(said))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
