/** The programs of docs/how-to do what their pages say: taken from the page, and run on real servers. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../packages/holdfast-lab/src/testbed/port.ts'
import { requireServers } from '../../packages/holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../packages/holdfast-lab/src/testbed/testbed.ts'
import { holdfast } from '../../packages/holdfast/src/index.ts'
import { sqlGuard } from '../../packages/holdfast/src/fence/index.ts'
import { Project, until } from './program.ts'
import { Pool } from 'pg'

const CLI = new URL('../../packages/holdfast/dist/cli.cjs', import.meta.url).pathname
const project = new Project()
let bed: Testbed
let urls: Record<string, string>
let redisUrl: string
let postgresUrl: string

beforeAll(async () => {
  await requireServers(['redis', 'postgres'])
  bed = await testbed()
  const [redis, postgres] = await Promise.all([bed.redis(), bed.postgres()])
  redisUrl = redis.url
  postgresUrl = postgres.url
  urls = { 'redis://locks:6379': redisUrl, 'postgres://db/shop': postgresUrl }
})
afterAll(async () => {
  await project.killAll()
  await bed?.close()
  project.remove()
})

/** The program of a page that has this text. */
function sample(page: string, text: string, language = 'ts'): string {
  const found = project.blocks(page, language, urls).find((block) => block.includes(text))
  expect(found, `${page} has a program with ${text}`).toBeDefined()
  return found as string
}

test.concurrent('cron.md: in two replicas a job of hf.once runs once a period, and SIGTERM ends them', async () => {
  const text = sample('cron.md', 'hf.once').replace('60_000', '1_000')
  const firstMs = Math.floor(Date.now() / 1_000) * 1_000
  const both = ['a', 'b'].map((name) => project.start(`once-${name}`, text))
  const hf = await holdfast(redisUrl)
  const lastMs = async (): Promise<number> => (await hf.job('sync').lastRun())?.dueMs ?? 0
  const seen = new Set<number>()
  await until('three periods were run', async () => seen.add(await lastMs()).size > 3)
  for (const program of both) program.signal('SIGTERM')
  const ended = await Promise.all(both.map((program) => program.ended))
  expect(ended.map(({ code }) => code)).toEqual([0, 0])
  const runs = ended.flatMap(({ lines }) => lines)
  expect(new Set(runs)).toEqual(new Set(['report false']))
  expect(runs.length).toBeGreaterThan(2)
  // Periods are a second long, and begin with the one in which the programs were started.
  expect(runs.length).toBeLessThanOrEqual(((await lastMs()) - firstMs) / 1_000 + 1)
  await hf.close()
})

test.concurrent('cron.md: who calls twice in a period runs the job once', async () => {
  // One moment for both: between two calls by the clock the hour may end.
  const text = sample('cron.md', "hf.job('invoices')").replace('Date.now()', String(Date.now()))
  const first = await project.start('job', text).ended
  const second = await project.start('job', text).ended
  expect([first, second]).toEqual([
    { code: 0, lines: ['report false', 'ran'] },
    { code: 0, lines: ['run by others'] },
  ])
})

test.concurrent('leader.md: another takes over at SIGTERM; one that was paused is refused by its token', async () => {
  const pool = new Pool({ connectionString: postgresUrl })
  // Its connections may still be closing when the server is stopped, and then the pool is told, or they are alone.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  await sqlGuard().setup(pool)
  await pool.query('CREATE TABLE schedule (rounds int); INSERT INTO schedule VALUES (0)')
  const rounds = async (): Promise<number> => {
    const { rows } = (await pool.query('SELECT rounds FROM schedule')) as unknown as { rows: { rounds: number }[] }
    return rows[0]?.rounds ?? 0
  }
  const text = sample('leader.md', 'election.run').replace('10_000', '4_000')
  const start = (port: string, program: string) =>
    project.start(`leader-${port}`, program.replace('8080', port), { DATABASE: postgresUrl })
  const hf = await holdfast(redisUrl)
  const leads = (port: string) =>
    until(`${port} leads`, async () => (await hf.election('scheduler').leader())?.value.includes(port) === true)
  const stands = () =>
    until('one stands', async () => {
      for await (const { waiters } of hf.list({ prefix: 'scheduler' })) return waiters.length === 1
      return false
    })

  const a = start('7070', text)
  await leads('7070')
  // One that does not look at its signal. It is paused while it rests: inside its transaction it would keep the row.
  const careless = text
    .replace('!signal.aborted', 'true')
    .replace('await setTimeout(1_000', "console.log('rests')\n    await setTimeout(3_000")
    .replace("'schedule', held)", "'schedule', held).catch((error) => { console.log(error.code); throw error })")
  const b = start('8080', careless)
  await stands()
  await until('the leader works', async () => (await rounds()) > 1)
  a.signal('SIGTERM')
  expect(await a.ended).toEqual({ code: 0, lines: [] })
  await b.says('rests')
  const c = start('9090', text)
  await stands()
  const { length } = b.lines
  await until('it rests anew', () => b.lines.length > length)
  b.signal('SIGSTOP')
  await leads('9090')
  const before = await rounds()
  await until('the next one works', async () => (await rounds()) > before)
  b.signal('SIGCONT')
  await b.says('HF_STALE_TOKEN')
  // It stands again, behind the new leader: told to stop while it stands, it ends without a failure.
  await stands()
  b.signal('SIGTERM')
  expect(await b.ended).toMatchObject({ code: 0 })
  c.signal('SIGTERM')
  expect(await c.ended).toEqual({ code: 0, lines: [] })
  await hf.close()
  await pool.end()
})

test.concurrent('migrations.md: replicas take turns, by the command line and in code', async () => {
  const log = project.write('migrations.log', '')
  const logged = (): string[] => readFileSync(log, 'utf8').split('\n').slice(0, -1)
  // In the place of npx: says what it was asked, and takes its time.
  project.write('npx', `#!/bin/sh\necho "$*" began >> ${log}; sleep 0.3; echo "$*" ended >> ${log}; echo done\n`)
  project.write('holdfast', `#!/bin/sh\nexec ${process.execPath} ${CLI} "$@"\n`)
  const env = { PATH: `${project.folder}:${process.env['PATH']}` }
  const [first = '', second = ''] = sample('migrations.md', 'holdfast run', 'sh').trim().split('\n')
  expect(await project.run('/bin/sh', ['-c', first], env).ended).toMatchObject({ code: 0 })
  const turns = (count: number): string[] =>
    Array.from({ length: count }, () => ['prisma migrate deploy began', 'prisma migrate deploy ended']).flat()
  const shells = await Promise.all([1, 2, 3].map(() => project.run('/bin/sh', ['-c', second], env).ended))
  expect(shells.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(logged()).toEqual(turns(3))
  const text = sample('migrations.md', 'withMigrationLock')
  const programs = await Promise.all([1, 2].map((i) => project.start(`migrate-${i}`, text, env).ended))
  expect(programs).toEqual([
    { code: 0, lines: ['done'] },
    { code: 0, lines: ['done'] },
  ])
  expect(logged()).toEqual(turns(5))
})

test.concurrent('idempotent-endpoint.md: two replicas charge a key once, and other keys beside it', async () => {
  const text = sample('idempotent-endpoint.md', 'createServer').replace(
    '=> ({ status: 201',
    '=> (console.log(key), { status: 201',
  )
  const ports = [await freePort(), await freePort()]
  const replicas = ports.map((port) => project.start(`endpoint-${port}`, text, { PORT: String(port) }))
  const post = async (port: number, key: string): Promise<string> => {
    const headers = { 'idempotency-key': key, connection: 'close' }
    const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers })
    return `${answer.status} ${await answer.text()}`
  }
  for (const port of ports) await until('it listens', async () => (await post(port, '').catch(() => '')) === '400 ')
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => post(ports[i % 2] as number, 'order-7')))
  expect(new Set(answers)).toEqual(new Set(['201 charged for order-7']))
  expect(await post(ports[0] as number, 'order-8')).toBe('201 charged for order-8')
  for (const replica of replicas) replica.signal('SIGTERM')
  const ended = await Promise.all(replicas.map((replica) => replica.ended))
  expect(ended.map(({ code }) => code)).toEqual([0, 0])
  expect(ended.flatMap(({ lines }) => lines).sort()).toEqual(['order-7', 'order-8'])
})

test.concurrent('nest.md: two apps wait for the lock of one method, and SIGTERM ends them', async () => {
  const hf = await holdfast(redisUrl)
  const held = await hf.mutex('stock:lamp').acquire()
  const apps = ['a', 'b'].map((name) =>
    project.start(`nest-${name}`, sample('nest.md', 'NestFactory').replace('5_000', '60_000')),
  )
  await until('both wait', async () => {
    for await (const { waiters } of hf.list({ prefix: 'stock:lamp' })) return waiters.length === 2
    return false
  })
  for (const { lines } of apps) expect(lines).not.toContain('one lamp')
  await held.release()
  for (const app of apps) await app.says('one lamp')
  for (const app of apps) app.signal('SIGTERM')
  // Nest ends its process by the signal itself, after the hooks.
  const ended = await Promise.all(apps.map((app) => app.ended))
  expect(ended.map(({ code }) => code)).toEqual([null, null])
  await hf.close()
})

test.concurrent('shutdown.md: SIGTERM gives the lock back, SIGKILL leaves it to the lease', async () => {
  const text = sample('shutdown.md', "hf.mutex('import')")
  const working = `globalThis.report = (signal) => new Promise((resolve) => {
    console.log('works')
    const alive = setInterval(() => undefined, 1_000)
    signal.addEventListener('abort', () => { clearInterval(alive); resolve() })
  })\n${text}`
  const hf = await holdfast(redisUrl)
  const first = project.start('worker-1', working)
  await first.says('works')
  const second = project.start('worker-2', working)
  await until('the second waits', async () => {
    for await (const { waiters } of hf.list({ prefix: 'import' })) return waiters.length === 1
    return false
  })
  first.signal('SIGTERM')
  expect(await first.ended).toEqual({ code: 0, lines: ['works', 'closed'] })
  await second.says('works')
  second.signal('SIGKILL')
  await second.ended
  expect(await hf.mutex('import').tryAcquire()).toBeNull()
  await hf.close()

  const port = await freePort()
  const server = project.start('server', sample('shutdown.md', 'closeWithServer'), { PORT: String(port) })
  const get = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })).text()
  await until('it serves', async () => (await get().catch(() => '')) === 'sold')
  server.signal('SIGTERM')
  expect(await server.ended).toEqual({ code: 0, lines: [] })
})

test.concurrent('serverless.md: a call that was frozen past its lease is told, and the next one works', async () => {
  // After assertHeld(): what a frozen call must not do.
  const act = "console.log('acts')\n        return { status: 200"
  const text = `${sample('serverless.md', 'handler').replace('10_000', '3_000').replace('return { status: 200', act)}
  const context = { getRemainingTimeInMillis: () => 60_000 }
  // Frozen in the middle of the work; there is no timer between the thaw and the next line.
  globalThis.report = async () => void process.kill(process.pid, 'SIGSTOP')
  await handler({ id: '7' }, context).catch((error) => console.log(error.code))
  globalThis.report = async () => console.log('works')
  console.log((await handler({ id: '7' }, context)).status)
  await (await opened)?.close()`
  const call = project.start('handler', text)
  const hf = await holdfast(redisUrl)
  await until('it holds the lock', async () => {
    for await (const { holders } of hf.list({ prefix: 'order:7' })) return holders.length === 1
    return false
  })
  // Others get it when the lease is over.
  const held = await hf.mutex('order:7').acquire({ waitMs: 30_000 })
  await held.release()
  call.signal('SIGCONT')
  expect(await call.ended).toEqual({ code: 0, lines: ['HF_LOST', 'works', 'acts', '200'] })
  await hf.close()
})

test.concurrent('testing.md: its tests pass in Vitest', async () => {
  project.write('lock.test.ts', sample('testing.md', 'useFakeTimers'))
  project.write('vitest.config.mjs', 'export default {}')
  const vitest = new URL('../../node_modules/vitest/vitest.mjs', import.meta.url).pathname
  const { code, lines } = await project.run(process.execPath, [vitest, 'run'], { NO_COLOR: '1' }).ended
  expect(lines.join('\n')).toMatch(/Tests +5 passed/)
  expect(code).toBe(0)
})

test.concurrent('monitoring.md: a scrape reads what the program did', async () => {
  const port = await freePort()
  const program = project.start(
    'monitored',
    `${sample('monitoring.md', 'prometheusMetrics')}\nsetInterval(() => {}, 1e3)`,
    {
      PORT: String(port),
    },
  )
  await program.says('sold')
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  expect(text).toContain('holdfast_lock_wait_duration_seconds_count{lock="stock:*",store="redis",outcome="acquired"} 1')
  program.signal('SIGKILL')
  await program.ended
})

test.concurrent('migrating.md: on the rolling way both the old key and the new lock are held', async () => {
  const text = `import { Redis } from 'ioredis'
  const own = new Redis('${redisUrl}')
  const keys = async () => [await own.exists('mutex:stock'), await own.exists('holdfast:{stock}')]
  Object.assign(globalThis, { client: own, work: async () => console.log('inside', ...(await keys())) })
  const { old, hf } = await import('./rolling-sample.ts')
  console.log('after', (await keys())[0])
  await old.close()
  await hf.close()
  own.disconnect()`
  project.write('rolling-sample.ts', `${sample('migrating.md', 'setNx')}\nexport { old, hf }`)
  expect(await project.start('rolling', text).ended).toEqual({ code: 0, lines: ['inside 1 1', 'after 0'] })
})
