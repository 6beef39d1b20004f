/** SQLite files on file systems that are not a disk of this machine: each is mounted, and the doctor is asked there. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireTools } from '../../../holdfast-lab/src/testbed/require.ts'
import { asked, findingsOf, ills, read } from './found.ts'
import { Mounts } from './mounts.ts'
import { ON_NFS, runOnNfs } from './nfs.ts'

const mounts = new Mounts()
let folder: string

beforeAll(async () => {
  await requireTools(['mounts', 'nfs'])
  folder = mkdtempSync(join(tmpdir(), 'holdfast-far-'))
}, 300_000)
afterAll(async () => {
  await mounts.close()
  rmSync(folder, { recursive: true, force: true })
})

function there(name: string): string {
  const at = join(folder, name)
  mkdirSync(at, { mode: 0o700 })
  return at
}

test('a folder of another machine, by sshfs', async () => {
  const at = join(folder, 'far')
  await mounts.sshfs(there('remote'), at)
  expect(await ills(`sqlite:${at}/locks.db`)).toEqual({ 'sqlite.filesystem': 'danger' })
})

test('a file system of FUSE that may be anything', async () => {
  const at = join(folder, 'shown')
  await mounts.bindfs(there('here'), at)
  const file = join(at, 'locks.db')
  const findings = await findingsOf(`sqlite:${file}`)
  expect(findings[0]).toMatchObject({ check: 'sqlite.filesystem', severity: 'warning' })
  expect(findings[0]?.found).toContain('FUSE (fuse)')
  chmodSync(file, 0o600)
  expect(await ills(`sqlite:${file}`)).toEqual({ 'sqlite.filesystem': 'warning' })
})

test('NFS', async () => {
  const said = await runOnNfs(there('kernel'), [process.execPath, ...asked(`sqlite:${ON_NFS}/locks.db`)])
  const lines = said.split(/\r?\n/).filter((line) => line.startsWith('{'))
  expect(lines, said).not.toEqual([])
  const code = Number(/^exit code (\d+)/m.exec(said)?.[1])
  const findings = read({ code, out: lines.join('\n'), err: '' })
  const ill = findings.filter(({ severity }) => severity !== 'ok')
  expect(ill.map(({ check, severity, found }) => ({ check, severity, found }))).toEqual([
    { check: 'sqlite.filesystem', severity: 'danger', found: `${ON_NFS} is on NFS, a network file system` },
  ])
})
