import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const MAIN = fileURLToPath(new URL('../../dist/src/demonstration/main.js', import.meta.url))

it('the flash sale ends as it must', async () => {
  // Rejects on any exit code but 0.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN])
  expect(stderr).toBe('')
  const lines = stdout.split('\n')
  expect(lines[0]).toMatch(/^10 in stock, A wants 6, B wants 5/)
  const summary = lines.slice(lines.findIndex((line) => line.includes('STOCK SAYS')) + 1).slice(0, 4)
  expect(summary.map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['(i)', 'no lock', '11 of 10', '5', 'oversold', 'as it must be'],
    ['(ii)', 'a lock, and a holder that is paused', '11 of 10', '5', 'oversold', 'as it must be'],
    ['(iii)', 'the same, and the stock checks the token', '5 of 10', '5', 'not oversold', 'as it must be'],
    ['(iv)', 'no lock, one conditional decrement', '6 of 10', '4', 'not oversold', 'as it must be'],
  ])
})
