/** Users who share a file and do not trust each other: each is one of the test's own, by number. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadEngine } from '../../../src/stores/sqlite/engine.ts'
import { type SqliteDriver, sqlite } from '../../../src/stores/sqlite/index.ts'
import { Client, PROJECT } from './client.ts'
import { testFolder } from './folder.ts'
import { until } from './until.ts'

const ANN = 60_001
const BEN = 60_002
const TEAM = 60_003
const TTL_MS = 600_000

const root = testFolder()
chmodSync(root, 0o755)
// The project may lie in the home of root, where nobody else may look: in a mount namespace of its own it is seen here,
// too.
const seen = join(root, 'project')
mkdirSync(seen)
const as = (uid: number): string[] => [
  ...['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" "$1" && cd "$1" && shift && exec "$@"', PROJECT, seen],
  ...['setpriv', `--reuid=${uid}`, `--regid=${uid}`, `--groups=${TEAM}`],
]

beforeAll(() => {
  const [command, ...args] = [...as(ANN), 'true']
  const tried = spawnSync(command, args, { encoding: 'utf8' })
  if (tried.status !== 0) throw new Error(`these tests need setpriv(1), and root: ${tried.error ?? tried.stderr}`)
})

/** A folder that the team shares, and in it a file with this mode that Ann has made. */
async function sharedFile(mode: number): Promise<string> {
  const folder = join(root, randomBytes(4).toString('hex'))
  mkdirSync(folder)
  chownSync(folder, ANN, TEAM)
  chmodSync(folder, 0o3775)
  const path = join(folder, 'locks.db')
  const ann = await Client.start(path, as(ANN))
  await ann.kill()
  chownSync(path, ANN, TEAM)
  chmodSync(path, mode)
  return path
}

const modeOf = (path: string): number => statSync(path).mode & 0o7777

test.each([
  [0o660, 0o1770],
  [0o600, 0o700],
  [0o666, 0o1777],
  [0o644, 0o700],
])('log, folder and sockets follow a file of mode %o', async (mode, folderMode) => {
  const path = await sharedFile(mode)
  const ann = await Client.start(path, as(ANN))
  await ann.ask('acquire', 'a', TTL_MS)
  for (const suffix of ['-wal', '-shm']) expect(modeOf(path + suffix), suffix).toBe(mode)
  expect(modeOf(`${path}-wake`)).toBe(folderMode)
  const sockets = readdirSync(`${path}-wake`).map((name) => join(`${path}-wake`, name))
  const writable = mode & 0o222
  expect(sockets.map((socket) => modeOf(socket) & 0o222)).toContain(writable)
})

test('what root makes beside the file of a user belongs to that user', async () => {
  const path = await sharedFile(0o600)
  const driver = sqlite(path)
  await driver.setup()
  for (const suffix of ['-wal', '-shm', '-wake']) expect(statSync(path + suffix).uid, suffix).toBe(ANN)
  const ann = await Client.start(path, as(ANN))
  await handOver(driver, ann, 100)
  await driver.close()
})

test('users of a shared file wake each other', async () => {
  const path = await sharedFile(0o660)
  const [ann, ben] = [await Client.start(path, as(ANN)), await Client.start(path, as(BEN))]
  await ann.ask('acquire', 'a', TTL_MS)
  // A wake-up that is lost costs up to a second: two hundred of them, the test.
  for (let i = 0; i < 200; i++) {
    const [from, to] = i % 2 === 0 ? [ann, ben] : [ben, ann]
    const next = to.ask('acquire', 'a', TTL_MS)
    await from.ask('release', 'a')
    await next
  }
})

async function handOver(driver: SqliteDriver, other: Client, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const entry = { line: 'a', id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: TTL_MS, data: '{}' }
    await driver.enter(entry, true)
    const next = other.ask('acquire', 'a', TTL_MS)
    await driver.leave(entry)
    await next
    await other.ask('release', 'a')
  }
}

test('a dead process of another user frees its lock, and does not take down who finds it dead', async () => {
  const path = await sharedFile(0o660)
  const ann = await Client.start(path, as(ANN))
  await ann.ask('acquire', 'a', TTL_MS)
  // Nobody but Ann may remove her socket now.
  chmodSync(`${path}-wake`, 0o1750)
  const ben = await Client.start(path, as(BEN))
  const next = ben.ask('acquire', 'a', TTL_MS)
  await ann.kill()
  await next
  expect(await ben.ask('state', 'a')).toBe('held')
})

interface Snare {
  readonly path: string
  readonly victim: string
  readonly calls: () => number
}

/** A victim's file and socket beside the lock file, and rows of an intruder that name them. */
async function snare(names: readonly string[]): Promise<Snare> {
  const folder = join(root, randomBytes(4).toString('hex'))
  mkdirSync(folder)
  const path = join(folder, 'locks.db')
  const victim = join(folder, 'victim')
  writeFileSync(victim, 'keep me')
  let calls = 0
  const server = createServer((socket) => {
    calls++
    socket.destroy()
  }).listen(join(folder, 'service'))
  servers.push(server)
  const driver = sqlite(path)
  await driver.setup()
  await driver.close()
  const engine = (await loadEngine(undefined))(path)
  const { boot } = engine.prepare('SELECT boot FROM host').get() as { readonly boot: string }
  expect(boot).not.toBe('')
  for (const name of names) {
    // Dead: the pid is past what a kernel gives out. Its own world is told by whoever opens the file.
    engine
      .prepare('INSERT INTO process (world, pid, start, is_group, socket) VALUES (?, ?, ?, 0, ?)')
      .run(await ownWorld(), 2 ** 30, '1', name)
    // Alive, and in front of everybody: this very process.
    const { key } = engine
      .prepare('INSERT INTO process (world, pid, start, is_group, socket) VALUES (?, ?, NULL, 0, ?) RETURNING key')
      .get(await ownWorld(), process.pid, name) as { readonly key: number }
    await occupy(path, name, key)
  }
  engine.close()
  return { path, victim, calls: () => calls }
}

const servers: Server[] = []
afterAll(() => Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))))

async function ownWorld(): Promise<string | null> {
  const { readHost } = await import('../../../src/stores/sqlite/host.ts')
  return readHost().world
}

/** Takes the line through the driver, and makes the place another process's. */
async function occupy(path: string, line: string, key: number): Promise<void> {
  const driver = sqlite(path)
  await driver.enter(
    { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: TTL_MS, data: '{}', outlives: true },
    true,
  )
  await driver.close()
  const engine = (await loadEngine(undefined))(path)
  const [table] = (
    engine.prepare("SELECT name FROM sqlite_schema WHERE sql LIKE '%entered_at%'").all() as {
      readonly name: string
    }[]
  ).map(({ name }) => name)
  engine
    .prepare(`UPDATE ${table} SET process = ?, also = NULL WHERE token = (SELECT max(token) FROM ${table})`)
    .run(key)
  engine.close()
}

/** Waits in a line as a user of the file does, for a dozen looks. */
async function wait(path: string, line: string): Promise<void> {
  const driver = sqlite(path)
  const entry = { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: TTL_MS, data: '{}' }
  const stop = driver.watch(line, entry.id, () => undefined)
  const place = await driver.enter(entry, true)
  expect(place?.ahead).toBe(1)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  stop()
  await driver.leave(entry)
  await driver.close()
}

test('rows that give a path for their socket make nobody delete or connect to anything', async () => {
  const names = ['../victim', '../service', '/service', '..', '.', 'a/../../victim', '\0', 'AAAAAAAAAAAA']
  const { path, victim, calls } = await snare(names)
  await Promise.all(names.map((name) => wait(path, name)))
  expect(existsSync(victim)).toBe(true)
  expect(existsSync(join(path, '..', 'service'))).toBe(true)
  expect(calls()).toBe(0)
})

test('a link in the folder, under a name that is in order, leads nowhere', async () => {
  const toService = 'a'.repeat(12)
  const toVictim = 'b'.repeat(12)
  const { path, victim, calls } = await snare([toService, toVictim])
  symlinkSync(join(path, '..', 'service'), join(`${path}-wake`, toService))
  symlinkSync(victim, join(`${path}-wake`, toVictim))
  await Promise.all([wait(path, toService), wait(path, toVictim)])
  expect(existsSync(victim)).toBe(true)
  expect(calls()).toBe(0)
})

test.each([2 ** 40, '4611686018427387904', -7, 0])('a row with the pid %s stops nobody', async (pid) => {
  const path = join(root, `${randomBytes(4).toString('hex')}.db`)
  const driver = sqlite(path)
  const entry = { line: 'a', id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: 300, data: '{}' }
  await driver.enter(entry, true)
  const engine = (await loadEngine(undefined))(path)
  engine
    .prepare(`INSERT INTO process (key, world, pid, start, is_group, socket) VALUES (77, ?, ${pid}, '1', 1, '')`)
    .run(await ownWorld())
  engine.exec('UPDATE places SET process = 77')
  engine.close()
  // Nothing can be said of such a process: the place is there until its lease has run out, and no longer.
  const lines: string[] = []
  for await (const { name } of driver.list('')) lines.push(name)
  expect(lines).toEqual(['a'])
  const next = { ...entry, id: randomBytes(16).toString('hex') }
  await driver.enter(next, true)
  await until(async () => (await driver.touch([next]))[0]?.ahead === 0)
  await driver.close()
})

test('a folder for wake-ups that somebody else has put there is not used', async () => {
  const folder = join(root, randomBytes(4).toString('hex'))
  mkdirSync(folder)
  const elsewhere = join(folder, 'elsewhere')
  mkdirSync(elsewhere)
  const linked = join(folder, 'linked.db')
  symlinkSync(elsewhere, `${linked}-wake`)
  const team = join(folder, 'shared')
  mkdirSync(team)
  chmodSync(team, 0o1777)
  const driver = sqlite(linked)
  await driver.setup()
  expect(readdirSync(elsewhere)).toEqual([])
  await driver.close()
  // Ann must not talk in a room that is Ben's.
  const path = join(team, 'locks.db')
  mkdirSync(`${path}-wake`)
  chownSync(`${path}-wake`, BEN, BEN)
  chmodSync(`${path}-wake`, 0o777)
  const ann = await Client.start(path, as(ANN))
  await ann.ask('acquire', 'a', TTL_MS)
  expect(readdirSync(`${path}-wake`)).toEqual([])
})

test('sockets that dead processes have left are removed by the next of the same user', async () => {
  const path = await sharedFile(0o660)
  const ann = await Client.start(path, as(ANN))
  await ann.kill()
  const [litter = ''] = readdirSync(`${path}-wake`)
  expect(litter).toMatch(/^[0-9a-f]{12}$/)
  const old = Math.floor(statSync(`${path}-wake`).mtimeMs / 1e3) - 3_600
  for (const name of readdirSync(`${path}-wake`)) utimesSync(join(`${path}-wake`, name), old, old)
  const engine = (await loadEngine(undefined))(path)
  engine.exec('DELETE FROM process')
  engine.close()
  await Client.start(path, as(ANN))
  await until(() => !readdirSync(`${path}-wake`).includes(litter))
})
