/** Before the first test with real servers: everything that any of them uses is installed, if HOLDFAST_TEST_INSTALL is 1. */
import { install, lacking } from '../packages/holdfast-lab/src/testbed/require.ts'

export async function setup(): Promise<void> {
  if (process.env['HOLDFAST_TEST_INSTALL'] !== '1') return
  const absent = await lacking()
  if (absent.length === 0) return
  process.stdout.write(`installing ${absent.join(', ')}\n`)
  await install(absent)
}
