/** Files that can't be used: each is a typed error that says what to do, and none is changed. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type EngineName, loadEngine } from '../../../src/drivers/sqlite/engine.ts'
import { defaultPath, sqlite } from '../../../src/drivers/sqlite/index.ts'
import { holdfast, StoreError, UsageError } from '../../../src/index.ts'
import { Client } from './client.ts'
import { testFolder } from './folder.ts'

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
  await execute(path, 'PRAGMA user_version = 3')
  const before = readFileSync(path)
  expect((await refusal(path)).message).toContain('newer Holdfast')
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a file of version 1 gets what it lacks', async () => {
  const path = fresh()
  await (await holdfast(`sqlite:${path}`)).close()
  await execute(path, 'DROP TABLE bucket; PRAGMA user_version = 1')
  const driver = sqlite(path)
  const demand = { cost: 2, burst: 3, unit: 60_000_000, drain: 1, shutAfter: 0, shutMs: 0 }
  expect(await driver.take('k', demand)).toMatchObject({ taken: true, left: 1 })
  expect(await driver.take('k', demand)).toMatchObject({ taken: false, left: 1 })
  await driver.close()
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
    `import { sqlite } from './src/drivers/sqlite/index.ts'
     const driver = sqlite({ path: 'never.db', engine: 'libsql' })
     await driver.setup().catch((error) => process.stdout.write(error.code + ' ' + error.message))`,
  )
  const said = execFileSync(process.execPath, ['--import', 'tsx', join(copy, 'main.ts')], { encoding: 'utf8' })
  expect(said).toMatch(/^HF_MISSING_CLIENT .*libsql@/)
})
