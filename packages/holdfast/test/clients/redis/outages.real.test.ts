/** A real server that kills, vanishes, comes back or stands still. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Connection } from '../../../src/clients/redis/index.ts'
import type { ConnectionOptions } from '../../../src/clients/redis/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
let server: Server
const opened: Connection[] = []

function connect(options: ConnectionOptions = {}): Connection {
  const connection = new Connection({ port: server.port, commandTimeoutMs: 30_000, backoffMinMs: 5, ...options })
  opened.push(connection)
  return connection
}

async function clients(admin: Connection): Promise<string> {
  return (await admin.command(['CLIENT', 'LIST'])) as string
}

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(() => bed?.close())

afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close()
})

test('CLIENT KILL: what was sent is unknown, what comes after works, nothing is sent twice', async () => {
  const connection = connect()
  const admin = connect()
  const id = await connection.command(['CLIENT', 'ID'])
  const blocked = connection.command(['BLPOP', 'nothing', 0]).catch((error: unknown) => error)
  while (!(await clients(admin)).includes('cmd=blpop'));
  expect(await admin.command(['CLIENT', 'KILL', 'ID', id as number])).toBe(1)
  expect(await blocked).toMatchObject({ sent: true, reason: 'dropped' })
  expect(await connection.command(['PING'])).toBe('PONG')
  expect(await connection.command(['CLIENT', 'ID'])).not.toBe(id)
})

test('counting through many kills: every increment is counted once, or reported as unknown', async () => {
  const [connection, admin] = [connect({ backoffMinMs: 1, backoffMaxMs: 5 }), connect()]
  await connection.command(['SET', 'count', 0])
  let known = 0
  let unknown = 0
  for (let round = 0; round < 20; round++) {
    const batch = Array.from({ length: 200 }, () => connection.command(['INCR', 'count']))
    const id = /id=(\d+) .*cmd=incr/.exec(await clients(admin))?.[1]
    if (id !== undefined) await admin.command(['CLIENT', 'KILL', 'ID', id])
    for (const result of await Promise.allSettled([...batch, connection.command(['INCR', 'count'])])) {
      if (result.status === 'fulfilled') known++
      else {
        expect(result.reason).toMatchObject({ sent: true })
        unknown++
      }
    }
  }
  const counted = Number(await admin.command(['GET', 'count']))
  expect(counted).toBeGreaterThanOrEqual(known)
  expect(counted).toBeLessThanOrEqual(known + unknown)
})

test('a restart: commands wait, subscriptions are renewed and told, messages flow again', async () => {
  const got: string[] = []
  let told: () => void
  const resubscribed = new Promise<void>((resolve) => (told = resolve))
  let heard: () => void
  const message = new Promise<void>((resolve) => (heard = resolve))
  const connection = connect({ events: { onResubscribed: () => told() } })
  await connection.subscribe('inbox', (text) => {
    got.push(text)
    if (text === 'after') heard()
  })
  expect(await connection.command(['PUBLISH', 'inbox', 'before'])).toBe(1)
  const restarted = server.kill().then(() => server.restart({ keepData: false }))
  while (connection.ready) await new Promise((resolve) => setImmediate(resolve))
  const waited = connection.command(['PING'])
  await restarted
  expect(await waited).toBe('PONG')
  await resubscribed
  expect(await connect().command(['PUBLISH', 'inbox', 'after'])).toBe(1)
  await message
  expect(got).toEqual(['before', 'after'])
})

test('in RESP2 a connection of its own is subscribed, and renewed after a kill', async () => {
  let told: () => void
  const resubscribed = new Promise<void>((resolve) => (told = resolve))
  const got: string[] = []
  const subscriber = connect({ protocol: 2, events: { onResubscribed: () => told() } })
  const other = connect({ protocol: 2 })
  let heard: () => void
  const second = new Promise<void>((resolve) => (heard = resolve))
  await subscriber.subscribe('two', (text) => {
    if (got.push(text) === 2) heard()
  })
  expect(await other.command(['PUBLISH', 'two', 'a'])).toBe(1)
  expect(await other.command(['CLIENT', 'KILL', 'TYPE', 'pubsub'])).toBe(1)
  await resubscribed
  expect(await other.command(['PUBLISH', 'two', 'b'])).toBe(1)
  await second
  await subscriber.unsubscribe('two')
  expect(got).toEqual(['a', 'b'])
  expect(await other.command(['PUBLISH', 'two', 'c'])).toBe(0)
})

test('messages to oneself and replies keep apart, 2 000 of each', async () => {
  const connection = connect()
  const got: string[] = []
  await connection.subscribe('self', (text) => got.push(text))
  const texts = Array.from({ length: 2_000 }, (_, index) => String(index))
  const replies = await Promise.all(
    texts.flatMap((text) => [connection.command(['PUBLISH', 'self', text]), connection.command(['ECHO', text])]),
  )
  await connection.unsubscribe('self')
  expect(replies.filter((_, index) => index % 2 === 1)).toEqual(texts)
  expect(got).toEqual(texts)
  expect(await connection.command(['PUBLISH', 'self', 'x'])).toBe(0)
})

test('a server that stands still is noticed by the command time-out, and used again when it goes on', async () => {
  const connection = connect()
  await connection.connect()
  server.pause()
  try {
    const silent = connection.command(['ECHO', 'late'], { timeoutMs: 1_000 })
    await expect(silent).rejects.toMatchObject({ sent: true, reason: 'timeout' })
  } finally {
    server.resume()
  }
  expect(await connection.command(['ECHO', 'mine'])).toBe('mine')
})

test.each([
  ['an idle connection lets the process end', 'idle', 'ready', 'end'],
  ['a pending command keeps it alive until it is settled', 'pending', 'ready', 'rejected unreachable', 'end'],
  ['ref: true keeps it alive for messages', 'ref', 'ready', 'message', 'end'],
])('%s', async (_, mode, ...expected) => {
  const file = fileURLToPath(new URL('process.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', file, mode, String(server.port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // If it never ends by itself, the test runs out of time, and this is what ends it.
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  const exit = once(child, 'exit')
  const sender = connect()
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line === 'ready' && mode === 'ref') await sender.command(['PUBLISH', 'to-process', 'message'])
  }
  expect(await exit).toEqual([0, null])
  expect(lines).toEqual(expected)
})
