/** SQLite files where they should not be. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { exitOf } from '../../src/doctor/finding.ts'
import { examine } from '../../src/doctor/doctor.ts'
import { networkKind } from '../../src/doctor/sqlite.ts'
import { ills } from './found.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-doctor-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function place(...parts: string[]): string {
  const at = join(folder, ...parts)
  mkdirSync(at, { recursive: true, mode: 0o700 })
  return join(at, 'locks.db')
}

test('a file of one user on a disk is fine', async () => {
  expect(await ills(`sqlite:${place('fine')}`)).toEqual({})
})

test('the file of this user, as it is made with the first lock, is fine', async () => {
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'state'))
  try {
    expect(await ills('sqlite:')).toEqual({ 'sqlite.file': 'note' })
    expect(existsSync(join(folder, 'state', 'holdfast', 'locks.db'))).toBe(true)
    expect(await ills('sqlite:')).toEqual({})
  } finally {
    vi.unstubAllEnvs()
  }
})

test('others may read it, or write it', async () => {
  const file = place('open')
  await ills(`sqlite:${file}`)
  chmodSync(file, 0o644)
  expect(await ills(`sqlite:${file}`)).toEqual({ 'sqlite.rights': 'warning' })
  chmodSync(file, 0o666)
  expect(await ills(`sqlite:${file}`)).toEqual({ 'sqlite.rights': 'danger' })
})

test('a folder that is synchronized, by its name or by what the program left there', async () => {
  expect(await ills(`sqlite:${place('Dropbox', 'app')}`)).toEqual({ 'sqlite.synced': 'danger' })
  const file = place('shared', 'deep')
  writeFileSync(join(folder, 'shared', '.stfolder'), '')
  expect(await ills(`sqlite:${file}`)).toEqual({ 'sqlite.synced': 'danger' })
})

test('which types of file systems are networks', () => {
  expect(networkKind(0x6969)).toBe('NFS')
  expect(networkKind(0xff534d42)).toContain('SMB')
  expect(networkKind(statfsSync(folder).type)).toBeNull()
})

test('memory is for one process; the exit code is the worst of all', async () => {
  expect(await ills('memory:')).toEqual({ 'memory.scope': 'note' })
  expect(exitOf(await examine('memory:'))).toBe(0)
  expect(exitOf(await examine(`sqlite:${place('Dropbox', 'app')}`))).toBe(2)
  const file = place('readable')
  await examine(`sqlite:${file}`)
  chmodSync(file, 0o604)
  expect(exitOf(await examine(`sqlite:${file}`))).toBe(1)
})
