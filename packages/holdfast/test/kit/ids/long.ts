/** `npm run ids:long [-- URL]`: ten million ids, each of the eight processes stopped once. Needs a build. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crowd } from './crowd.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-ids-'))
const url = process.argv[2] ?? `sqlite:${join(folder, 'ids.db')}`
try {
  const { made, repeated, takenOver } = await crowd(url, 10_000_000, 8)
  const told = `${made} ids, ${repeated} of them twice; slots taken over from a stopped process: ${takenOver.length}\n`
  process.stdout.write(told)
  process.exitCode = repeated === 0 && takenOver.length === 8 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
