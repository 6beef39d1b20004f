import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('the embedded scripts are those of the script files', () => {
  const script = fileURLToPath(new URL('../../scripts/embed.js', import.meta.url))
  expect(execFileSync(process.execPath, [script, '--check']).toString()).toBe('')
})
