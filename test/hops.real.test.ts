/** A free mutex visits few files of ours, and docs/explain/architecture.md says how many. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { requireServers } from '../packages/holdfast-lab/src/testbed/require.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

test('at most 10 files above the store, at most 20 with Redis, and the page has the counts', async () => {
  await requireServers(['redis'])
  // It exits with 1 when a bar is passed, and lists the files.
  const said = execFileSync(process.execPath, ['scripts/hops.js'], { cwd: ROOT, encoding: 'utf8' })
  const counts = [...said.matchAll(/^(\w+), .*: (\d+) files/gm)].map(([, store, count]) => `${store}: ${count} files`)
  expect(counts).toHaveLength(2)
  const page = readFileSync(`${ROOT}docs/explain/architecture.md`, 'utf8')
  for (const count of counts) expect(page).toContain(count)
}, 120_000)
