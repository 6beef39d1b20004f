import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { crowd } from './crowd.ts'

await requireServers(['redis'])
const bed = await testbed()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-ids-'))
afterAll(async () => {
  await bed.close()
  rmSync(folder, { recursive: true, force: true })
})

const STORES = [
  { name: 'a SQLite file', open: async () => `sqlite:${join(folder, 'ids.db')}` },
  { name: 'Redis', open: async () => (await bed.redis()).url },
]

test.each(STORES)(
  'a million ids of 8 processes on $name, one of them stopped while another takes its slot: none comes twice',
  async ({ open }) => {
    const { made, repeated, takenOver } = await crowd(await open(), 1_000_000, 1)
    expect(made).toBeGreaterThanOrEqual(1_000_000)
    expect(repeated).toBe(0)
    expect(takenOver).toHaveLength(1)
  },
  180_000,
)
