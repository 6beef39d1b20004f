/**
 * Before the first test with real servers or the built packages: a build that is not of the sources as they are now is
 * made anew, without types, and every server is installed, if HOLDFAST_TEST_INSTALL is 1.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { install, lacking } from '../packages/holdfast-lab/src/testbed/require.ts'
import { isBuilt } from '../scripts/built.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

export async function setup(): Promise<void> {
  if (!isBuilt()) execFileSync(process.execPath, ['scripts/build.js', '--no-types'], { cwd: ROOT, stdio: 'inherit' })
  if (process.env['HOLDFAST_TEST_INSTALL'] !== '1') return
  const absent = await lacking()
  if (absent.length === 0) return
  process.stdout.write(`installing ${absent.join(', ')}\n`)
  await install(absent)
}
