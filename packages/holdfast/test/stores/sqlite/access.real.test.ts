/** Who may use a file that Holdfast has made. */
import { execFileSync } from 'node:child_process'
import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PROJECT } from './client.ts'
import { testFolder } from './folder.ts'

const folder = testFolder()

/** With this umask; what a user calls, in a process of its own. */
function makeLock(umask: string, state: string, path: string): void {
  const program = `
    import { holdfast } from ${JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href)}
    const hf = await holdfast(${path === '' ? '' : JSON.stringify(`sqlite:${path}`)})
    await hf.mutex('a').using(() => undefined)
    await hf.close()`
  const command = ['umask "$0" && exec "$@"', umask, process.execPath, '--import', 'tsx', '--input-type=module']
  execFileSync('sh', ['-c', ...command, '-e', program], {
    cwd: PROJECT,
    env: { ...process.env, XDG_STATE_HOME: state },
  })
}

const modeOf = (path: string): number => statSync(path).mode & 0o777

test.each(['000', '022'])('the file of this user is for this user only, with an umask of %s', (umask) => {
  const state = join(folder, `state-${umask}`)
  makeLock(umask, state, '')
  const path = join(state, 'holdfast', 'locks.db')
  expect(modeOf(path)).toBe(0o600)
  expect(modeOf(`${path}-wake`)).toBe(0o700)
  expect([modeOf(state), modeOf(join(state, 'holdfast'))]).toEqual([0o700, 0o700])
  // Who wants to share it may do so.
  chmodSync(path, 0o660)
  makeLock(umask, state, '')
  expect(modeOf(path)).toBe(0o660)
})

test('a file that is named gets the mode that SQLite and the umask give', () => {
  const path = join(folder, 'named', 'locks.db')
  makeLock('027', folder, path)
  expect(modeOf(path)).toBe(0o640)
  expect(modeOf(join(folder, 'named'))).toBe(0o750)
})
