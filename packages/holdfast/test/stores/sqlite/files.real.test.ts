/** Files that can't be used: each is a typed error that says what to do, and none is changed. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SqliteDriver } from '../../../src/stores/sqlite/driver.ts'
import { type EngineName, loadEngine } from '../../../src/stores/sqlite/engine.ts'
import { UNKNOWN_BOOT } from '../../../src/stores/sqlite/host.ts'
import { defaultPath, sqlite } from '../../../src/stores/sqlite/index.ts'
import { Names } from '../../../src/stores/sqlite/names.ts'
import { type Holdfast, holdfast, StoreError, UsageError } from '../../../src/index.ts'
import { system } from '../../../src/system.ts'
import { Client } from './client.ts'
import { testFolder } from './folder.ts'
import { until } from './until.ts'

const folder = testFolder()
const fresh = (): string => join(folder, `${randomBytes(4).toString('hex')}.db`)

async function execute(path: string, sql: string): Promise<void> {
  const engine = (await loadEngine(undefined))(path)
  engine.exec(sql)
  engine.close()
}

async function refusal(path: string): Promise<StoreError> {
  const error: unknown = await holdfast(`sqlite:${path}`).then(
    (hf) => hf.close(),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StoreError)
  return error as StoreError
}

test('the file, its folder and its schema are made', async () => {
  const path = join(folder, 'some', 'where', 'locks.db')
  const hf = await holdfast(`sqlite:${path}`)
  await (await hf.mutex('a').acquire()).release()
  await hf.close()
  expect(existsSync(path)).toBe(true)
})

test('a file that is no database is refused and stays as it is', async () => {
  const path = fresh()
  const bytes = Buffer.from('These are notes, not locks.\n'.repeat(200))
  writeFileSync(path, bytes)
  expect((await refusal(path)).message).toContain('not a SQLite database')
  expect(readFileSync(path).equals(bytes)).toBe(true)
  expect(existsSync(`${path}-wake`)).toBe(false)
})

test('a database of another program is refused and stays as it is', async () => {
  const path = fresh()
  await execute(
    path,
    'CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO accounts VALUES (1, 2)',
  )
  const before = readFileSync(path)
  expect((await refusal(path)).message).toContain('another program')
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a file with a newer schema is refused and stays as it is', async () => {
  const path = fresh()
  await (await holdfast(`sqlite:${path}`)).close()
  await execute(path, 'PRAGMA user_version = 99')
  const before = readFileSync(path)
  expect((await refusal(path)).message).toContain('newer Holdfast')
  expect(readFileSync(path).equals(before)).toBe(true)
})

/** A file as version 2 had it, with what this version has written into it. */
const AS_VERSION_2 = `
CREATE TABLE place (line TEXT NOT NULL, token INTEGER NOT NULL, id TEXT NOT NULL, weight INTEGER NOT NULL,
  capacity INTEGER NOT NULL, ttl_us INTEGER NOT NULL, process INTEGER NOT NULL, also TEXT, entered_at INTEGER NOT NULL,
  lapses_at INTEGER NOT NULL, granted INTEGER NOT NULL, broken INTEGER NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (line, token)) STRICT, WITHOUT ROWID;
INSERT INTO place SELECT substr(line, 11), token, id, weight, capacity, ttl_us, process, also, entered_at,
  lapses_at, granted, broken, data FROM places;
DROP TABLE places;
UPDATE cell SET key = substr(key, 11);
UPDATE bucket SET key = substr(key, 11);
PRAGMA user_version = 2;`

test('a file of an older version is brought up to date with all that stands in it', async () => {
  const path = fresh()
  const before = await holdfast(`sqlite:${path}`)
  const held = await before.mutex('stock:42', { ttlMs: 600_000 }).acquire()
  await before.cell<string>('k').write('v', 0n)
  await execute(path, AS_VERSION_2)
  const after = await holdfast(`sqlite:${path}`)
  expect(await after.mutex('stock:42').tryAcquire()).toBeNull()
  expect((await after.cell<string>('k').read()).value).toBe('v')
  for await (const line of after.list()) expect(line.name).toBe('stock:42')
  held.assertHeld()
  await before.close()
  await (await after.mutex('stock:42').acquire()).release()
  await after.close()
})

test('a file of version 1 gets what it lacks', async () => {
  const path = fresh()
  await (await holdfast(`sqlite:${path}`)).close()
  await execute(path, `${AS_VERSION_2} DROP TABLE bucket; PRAGMA user_version = 1`)
  const driver = sqlite(path)
  const demand = { cost: 2, burst: 3, unit: 60_000_000, drain: 1, shutAfter: 0, shutMs: 0 }
  expect(await driver.take('k', demand)).toMatchObject({ taken: true, left: 1 })
  expect(await driver.take('k', demand)).toMatchObject({ taken: false, left: 1 })
  await driver.close()
})

test.each([
  ['soon after', 60e6],
  ['when it has been up for as long again', 20 * 3_600e6],
])('where nothing tells a reboot, a lock held over it is free %s', async (_, uptimeUs) => {
  const path = fresh()
  const names = new Names('holdfast')
  const unknown = { boot: UNKNOWN_BOOT, world: null, pid: 7, start: null }
  const runtime = system
  const at = { line: 'a', id: 'b', weight: 1, capacity: 1, ttlMs: 30_000, data: '{}' }
  const old = new SqliteDriver({
    path,
    engine: undefined,
    runtime,
    names,
    host: { ...unknown, now: () => 10 * 3_600e6 },
  })
  expect(await old.enter(at, false)).not.toBeNull()
  await old.swap('k', { version: 0n, next: 'v', ttlMs: 5_000, nonce: 'n' })
  await old.close()
  const now = (): number => uptimeUs
  const next = new SqliteDriver({ path, engine: undefined, runtime, names, host: { ...unknown, now } })
  expect(await next.enter({ ...at, id: 'c' }, false)).not.toBeNull()
  await next.close()
})

test('prefixes part a file: locks, cells and limits of one are not those of another', async () => {
  const path = fresh()
  const of = (prefix: string): Promise<Holdfast> => holdfast(`sqlite:${path}?prefix=${prefix}`)
  const [plain, shop, shop2] = [await holdfast(`sqlite:${path}`), await of('shop'), await of('shop')]
  const held = await plain.mutex('a').acquire()
  const other = await shop.mutex('a').tryAcquire()
  expect(other).not.toBeNull()
  expect(await shop2.mutex('a').tryAcquire()).toBeNull()
  await plain.cell('k').write('plain', 0n)
  expect((await shop.cell('k').read()).value).toBeUndefined()
  // What stands in the file for one must not be a name of another.
  const tricky = await shop.mutex('4:shopa').tryAcquire()
  expect(await (await of('4:shop')).mutex('a').tryAcquire()).not.toBeNull()
  const names: string[] = []
  for await (const line of shop.list({ prefix: 'a' })) names.push(line.name)
  expect(names).toEqual(['a'])
  await expect(shop.semaphore('a', 2).acquire()).rejects.toThrow('lock "a" is in use with capacity 1')
  expect(await shop2.break('a', { now: true })).toBe(1)
  held.assertHeld()
  await tricky?.release()
  for (const hf of [plain, shop, shop2]) await hf.close()
})

test('a corrupt file is told, by its opening or by the first call', async () => {
  const path = fresh()
  await (await holdfast(`sqlite:${path}`)).close()
  await execute(path, 'PRAGMA wal_checkpoint(TRUNCATE)')
  const bytes = readFileSync(path)
  bytes.fill(0xa5, 2_048)
  writeFileSync(path, bytes)
  const driver = sqlite(path)
  const at = { line: 'a', id: 'b', weight: 1, capacity: 1, ttlMs: 1_000, data: '{}' }
  await expect(driver.enter(at, true)).rejects.toThrow(/corrupt/)
  await driver.close()
  expect(readFileSync(path).equals(bytes)).toBe(true)
})

test.each(['DELETE FROM host', 'DROP TABLE places', 'DROP TABLE process', 'PRAGMA user_version = 1'])(
  'a file of which somebody has taken something away is told: %s',
  async (deed) => {
    const path = fresh()
    await (await holdfast(`sqlite:${path}`)).close()
    await execute(path, deed)
    expect((await refusal(path)).message).toContain(path)
  },
)

test('a folder that can not be made, and a path that is a folder', async () => {
  const file = fresh()
  writeFileSync(file, '')
  expect((await refusal(join(file, 'sub', 'locks.db'))).message).toContain("can't be made")
  const directory = fresh()
  mkdirSync(directory)
  expect((await refusal(directory)).message).toContain('cannot be opened')
})

/** A small file system of our own, since root is stopped by no permission. */
async function onSmallDisk(run: (path: string) => Promise<void>): Promise<void> {
  const mount = fresh()
  mkdirSync(mount)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'holdfast-test', mount], { stdio: 'pipe' })
  } catch (error) {
    throw new Error(`this test needs the right to mount a tmpfs (root): ${String(error)}`, { cause: error })
  }
  try {
    await run(mount)
  } finally {
    execFileSync('umount', ['--lazy', mount])
  }
}

test('a read-only file is told', async () => {
  await onSmallDisk(async (mount) => {
    const path = join(mount, 'locks.db')
    // In a process of its own, since libsql lets go of a file only when its memory is collected.
    const client = await Client.start(path)
    await client.kill()
    execFileSync('mount', ['-o', 'remount,ro', mount])
    expect((await refusal(path)).message).toMatch(/read-only|cannot be opened/)
  })
})

test('a full disk fails the call, not the store: what was held stays held, and with room it goes on', async () => {
  await onSmallDisk(async (mount) => {
    const hf = await holdfast(`sqlite:${join(mount, 'locks.db')}`)
    const held = await hf.mutex('held').acquire()
    const filler = join(mount, 'filler')
    for (let bytes = 65_536; bytes >= 1; bytes = Math.floor(bytes / 2)) fill(filler, bytes)
    const full: unknown = await (async () => {
      for (let i = 0; ; i++) await hf.mutex(`line ${i}`).acquire()
    })().catch((error: unknown) => error)
    expect(full).toBeInstanceOf(StoreError)
    expect((full as StoreError).message).toMatch(/no room left/)
    held.assertHeld()
    // SQLite has rolled the transaction back by itself, in which the file is made ready: that is no reason to tell.
    for (const name of ['locks.db', 'new.db'])
      expect((await refusal(join(mount, name))).message).toMatch(/no room left/)
    rmSync(filler)
    await (await hf.mutex('after').acquire()).release()
    expect(await held.release()).toBe(true)
    await hf.close()
  })
})

function fill(path: string, bytes: number): void {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

test('a file that is removed while in use: its holders are told, and the next call makes a new one', async () => {
  const path = fresh()
  const driver = sqlite(path)
  const at = { line: 'a', id: 'b', weight: 1, capacity: 1, ttlMs: 60_000, data: '{}' }
  await driver.enter(at, true)
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix)
  let told: unknown = null
  while (told === null)
    told = await driver.touch([at]).then(
      () => null,
      (error: unknown) => error,
    )
  expect(told).toMatchObject({ code: 'HF_STORE' })
  expect((told as Error).message).toContain('removed or replaced')
  expect(await driver.touch([at])).toEqual([null])
  expect(await driver.enter({ ...at, id: 'c' }, false)).not.toBeNull()
  expect(statSync(path).size).toBeGreaterThan(0)
  await driver.close()
})

test('a path too long for a socket works like any other', async () => {
  const path = join(folder, 'd'.repeat(100), 'e'.repeat(100), 'locks.db')
  const [a, b] = [await holdfast(`sqlite:${path}`), await holdfast(`sqlite:${path}`)]
  const held = await a.mutex('a', { ttlMs: 600_000 }).acquire()
  const next = b.mutex('a', { ttlMs: 600_000 }).acquire()
  await held.release()
  await (await next).release()
  await a.close()
  await b.close()
})

test('a link to the file is the same store: who waits by one path is woken by the other', async () => {
  const path = fresh()
  const link = fresh()
  symlinkSync(path, link)
  const [a, b] = [await holdfast(`sqlite:${path}`), await holdfast(`sqlite:${link}`)]
  // A wake-up that is lost costs up to a second: a hundred of them, the test.
  for (let i = 0; i < 100; i++) {
    const held = await a.mutex('a', { ttlMs: 600_000 }).acquire()
    const next = b.mutex('a', { ttlMs: 600_000 }).acquire()
    await held.release()
    await (await next).release()
  }
  expect(existsSync(`${link}-wake`)).toBe(false)
  await a.close()
  await b.close()
})

test('a file damaged while in use: an observer is woken, and its look tells; no error goes unhandled', async () => {
  const path = fresh()
  const driver = sqlite(path)
  await driver.setup()
  const entry = { line: 'a', id: 'b', weight: 1, capacity: 1, ttlMs: 600_000, data: '{}' }
  await driver.enter(entry, true)
  let wakes = 0
  const stop = driver.watch('a', null, () => {
    wakes++
  })
  // Until the observer has seen the file whole.
  await until(() => wakes > 0)
  const before = wakes
  for (const suffix of ['', '-wal', '-shm']) damage(path + suffix)
  await until(() => wakes > before)
  await expect(driver.touch([entry])).rejects.toBeInstanceOf(StoreError)
  stop()
  await driver.close()
})

function damage(path: string): void {
  const fd = openSync(path, 'r+')
  writeSync(fd, Buffer.alloc(statSync(path).size, 0xa5), 0)
  closeSync(fd)
}

test('paths, engines and options that make no sense are refused before any I/O', async () => {
  expect(() => sqlite('')).toThrow(UsageError)
  expect(() => sqlite({ path: ':memory:' })).toThrow(UsageError)
  expect(() => sqlite({ engine: 'sqlite3' as EngineName })).toThrow(UsageError)
  expect(() => sqlite({ file: 'x' } as object)).toThrow(UsageError)
  await expect(holdfast('sqlite:%zz')).rejects.toThrow(UsageError)
})

test('the default path follows XDG', () => {
  expect(defaultPath({ HOME: '/home/ann' })).toBe('/home/ann/.local/state/holdfast/locks.db')
  expect(defaultPath({ HOME: '/home/ann', XDG_STATE_HOME: '/var/state' })).toBe('/var/state/holdfast/locks.db')
  expect(defaultPath({ HOME: '/home/ann', XDG_STATE_HOME: 'relative' })).toBe(
    '/home/ann/.local/state/holdfast/locks.db',
  )
})

test('without libsql the error names the package', () => {
  // A copy of the sources outside of this package finds none of its dependencies.
  const copy = join(folder, 'copy')
  cpSync(new URL('../../../src', import.meta.url), join(copy, 'src'), { recursive: true })
  writeFileSync(join(copy, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(copy, 'main.ts'),
    `import { sqlite } from './src/stores/sqlite/index.ts'
     const driver = sqlite({ path: 'never.db', engine: 'libsql' })
     await driver.setup().catch((error) => process.stdout.write(error.code + ' ' + error.message))`,
  )
  const loader = import.meta.resolve('tsx')
  const options = { encoding: 'utf8', cwd: copy } as const
  const said = execFileSync(process.execPath, ['--import', loader, join(copy, 'main.ts')], options)
  expect(said).toMatch(/^HF_MISSING_CLIENT .*npm install libsql/)
})
