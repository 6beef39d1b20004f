/** A connection with a charset of its own: values, names and labels come through whole. */
import { randomBytes } from 'node:crypto'
import { createPool } from 'mysql2/promise'
import { beforeAll, describe, expect, test } from 'vitest'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { holdfast } from '../../../src/index.ts'
import { useMariadb } from './server.ts'

const bench = useMariadb({ config: { 'character-set-server': 'latin1', 'collation-server': 'latin1_swedish_ci' } })

beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
})

const TEXTS = [
  'plain',
  'Grüße',
  'Ελλάδα',
  '日本',
  '🔒 & 👩‍👩‍👧',
  '\u0000\u0001',
  'a\\u00fc\\',
  '"quoted"',
  'x'.repeat(30_000) + 'ü',
]
const STORES = ['latin1', 'ascii', 'utf8mb4', 'sjis', 'latin1 in the URL'] as const

describe.each(STORES)('charset %s', (charset) => {
  test('cells, names, labels and lists are as they were written, also for a client with another charset', async () => {
    const pool = createPool({ uri: bench.url, charset: charset.split(' ')[0] as string })
    const store = charset === 'latin1 in the URL' ? `${bench.url}?charset=LATIN1_SWEDISH_CI` : (pool as never)
    const [mine, theirs] = [await holdfast(mysql(store)), await holdfast(mysql(bench.url))]
    try {
      for (const text of TEXTS) {
        const name = `${text.slice(0, 20)} ${randomBytes(6).toString('hex')}`
        await mine.cell<string>(name).update(() => text)
        expect((await theirs.cell<string>(name).read()).value).toBe(text)
        await theirs.cell<string>(name).update((value) => `${value}!`)
        expect((await mine.cell<string>(name).read()).value).toBe(`${text}!`)
        // New, then known and empty, then a crowd, then several at once: each way has statements of its own.
        const label = text.slice(0, 20)
        const lock = mine.mutex(name, { label })
        for (const each of [lock, lock, mine.all([lock, mine.mutex(`${name} 2`)])]) {
          const held = await each.acquire()
          for (const hf of [mine, theirs]) {
            const seen = []
            for await (const line of hf.list({ prefix: name })) seen.push(line)
            expect(seen[0]?.name).toBe(name)
            expect(seen[0]?.holders[0]?.label).toBe(label)
          }
          expect(await theirs.mutex(name).tryAcquire()).toBeNull()
          expect(await held.release()).toBe(true)
        }
      }
    } finally {
      await mine.close()
      await theirs.close()
      await pool.end()
    }
  })
})
