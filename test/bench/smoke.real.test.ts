/** The bench still runs: one round of one scenario on the built library. Its figures are not judged here. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const main = fileURLToPath(new URL('../../bench/main.js', import.meta.url))

function bench(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' })
}

test('a round of tasks on the memory store', () => {
  const { status, stdout, stderr } = bench('--scenario', 'tasks', '--rounds', '1', '--discard')
  expect(stderr).toBe('')
  expect(status).toBe(0)
  expect(stdout).toMatch(/\| holdfast +\|/)
  expect(stdout).toMatch(/\| promise-chain +\|/)
  expect(stdout).toMatch(/inOrder .* reached/)
})

test('what it does not know is refused by name', () => {
  const { status, stderr } = bench('--scenario', 'contented')
  expect(status).toBe(64)
  expect(stderr).toContain('--scenario contented: there are uncontended, contended')
})
