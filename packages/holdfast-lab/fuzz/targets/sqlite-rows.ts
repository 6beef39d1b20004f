/** A SQLite file that somebody else has written to: any value in any column, and any byte of the file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine } from '../../../holdfast/src/stores/sqlite/engine.ts'
import { HoldfastError } from '../../../holdfast/src/contract/errors.ts'
import type { Holdfast } from '../../../holdfast/src/holdfast.ts'
import { holdfast } from '../../../holdfast/src/open.ts'
import { attemptAsync, type Target, textOf } from '../target.ts'

const COLUMNS = [
  ...[
    'places.data',
    'places.id',
    'places.weight',
    'places.capacity',
    'places.lapses_at',
    'places.token',
    'places.also',
  ],
  ...[
    'places.ttl_us',
    'places.granted',
    'places.raised',
    'places.beside',
    'places.process',
    'cell.value',
    'cell.version',
  ],
  ...['cell.lapses_at', 'host.token', 'host.boot', 'process.pid', 'process.start', 'process.socket', 'bucket.level'],
]

let folder: string
let pristine: Buffer
let count = 0

type Database = new (path: string) => Engine

function open(path: string): Engine {
  const builtin = process.getBuiltinModule('node:sqlite') as { readonly DatabaseSync: Database } | undefined
  const Engine = builtin?.DatabaseSync ?? (createRequire(import.meta.url)('libsql') as Database)
  return new Engine(path)
}

/** Whatever the engine itself refuses was not written. */
function poison(path: string, column: string, value: string | number | null): void {
  const [table = '', name = ''] = column.split('.')
  const db = open(path)
  try {
    db.prepare(`UPDATE ${table} SET ${name} = ?`).run(value)
  } catch (error) {
    // libsql says it with a TypeError, node:sqlite with an Error.
    if (!(error instanceof Error)) throw error
  } finally {
    db.close()
  }
}

function valueOf(text: string): string | number | null {
  if (text === '') return null
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text.replaceAll('\ud800', '?')
}

async function use(hf: Holdfast): Promise<void> {
  const deeds: (() => Promise<unknown>)[] = [
    async () => {
      for await (const line of hf.list()) Buffer.from(line.name)
    },
    () => hf.mutex('taken').using(() => 'held', { waitMs: 20 }),
    () => hf.mutex('free').using(() => 'held', { waitMs: 20 }),
    () => hf.cell('cell').read(),
    () => hf.cell('cell').update(() => 1, { waitMs: 20 }),
    () => hf.limiter('api', { limit: 5, perMs: 1_000 }).take('k'),
    () => hf.jobs(),
    () => hf.deadlocks(),
    () => hf.job('nightly').lastRun(),
    () => hf.break('taken'),
  ]
  for (const deed of deeds) await attemptAsync(deed)
}

export const sqliteRows: Target = {
  name: 'sqlite-rows',
  says: 'a SQLite file that somebody else has written to',
  slow: true,
  seeds: [
    '\x00{"label":"x"}',
    '\x00[1,2',
    '\x03\x30',
    '\x0c{"dueMs":1}',
    '\x0cnot json',
    '\x0d9007199254740991',
    '\x059007199254740991',
    '\xff\x00\x64\xff',
  ].map((text) => Buffer.from(text, 'latin1')),
  words: ['{', '}', '"', 'null', '[]', '-1', '1e308', '{"dueMs":', '{"h":{"startedMs":"x"}}', '\x00', ',', ':'],
  async open() {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
    const path = join(folder, 'pristine.db')
    const hf = await holdfast(`sqlite:${path}`)
    const held = await hf.mutex('taken').acquire()
    await held.export()
    await hf.cell('cell').update(() => ({ a: 1 }))
    await hf.limiter('api', { limit: 5, perMs: 1_000 }).take('k')
    await hf.job('nightly').attempt(1, { rerun: false, untilMs: Date.now(), waitMs: 0 }, () => undefined)
    await hf.close()
    const db = open(path)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    pristine = readFileSync(path)
  },
  async run(input) {
    const path = join(folder, `${count++}.db`)
    const [kind = 0] = input
    const bytes = Buffer.from(pristine)
    // Above 239: bytes of the file itself are changed.
    if (kind > 239)
      for (let i = 1; i + 3 < input.length; i += 3) damage(bytes, input.readUInt16BE(i), input[i + 2] ?? 0)
    writeFileSync(path, bytes)
    if (kind <= 239) poison(path, COLUMNS[kind % COLUMNS.length] as string, valueOf(textOf(input.subarray(1))))
    try {
      const hf = await holdfast(`sqlite:${path}`, { ttlMs: 1_000 })
      await use(hf)
      await hf.close()
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
    } finally {
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    }
  },
  async close() {
    rmSync(folder, { recursive: true, force: true })
  },
}

function damage(bytes: Buffer, at: number, value: number): void {
  bytes[at % bytes.length] = value
}
