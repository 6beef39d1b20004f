/** A folder of a test's own, gone when the file's tests are. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
