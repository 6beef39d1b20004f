/** A file that another program has written to: what does not fit is refused with a typed error, and never for ever. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { holdfast, HoldfastError } from '../../../src/index.ts'
import type { Engine } from '../../../src/stores/sqlite/engine.ts'
import { testFolder } from './folder.ts'

const folder = testFolder()
let count = 0

type Database = new (path: string) => Engine

function engine(path: string): Engine {
  const builtin = process.getBuiltinModule('node:sqlite') as { readonly DatabaseSync: Database } | undefined
  return new (builtin?.DatabaseSync ?? (createRequire(import.meta.url)('libsql') as Database))(path)
}

test.each([
  ['places', "id = 'a' || char(0) || 'b', lapses_at = 1"],
  ['places', "data = '['"],
  ['places', 'weight = -5'],
  ['places', 'capacity = 0, lapses_at = 1'],
  ['cell', "value = 'no json'"],
  ['host', "boot = ''"],
])('%s with %s', async (table, change) => {
  const path = join(folder, `${count++}.db`)
  const hf = await holdfast(`sqlite:${path}`)
  await hf.mutex('taken').acquire()
  await hf.cell('c').update(() => 1)
  const db = engine(path)
  db.exec(`UPDATE ${table} SET ${change}`)
  db.close()
  const other = await holdfast(`sqlite:${path}`)
  const deeds = [
    () => other.mutex('taken').using(() => 'held', { waitMs: 200 }),
    () => other.mutex('free').using(() => 'held', { waitMs: 200 }),
    () => other.cell('c').read(),
    async () => {
      for await (const line of other.list()) expect(line.name).toBeTypeOf('string')
    },
  ]
  for (const deed of deeds) {
    const outcome: unknown = await deed().catch((error: unknown) => error)
    if (outcome instanceof Error) expect(outcome).toBeInstanceOf(HoldfastError)
  }
  await Promise.all([hf.close(), other.close()])
})
