/** `holdfast migrate` on real servers, by itself and by way of the SQL that it prints. */
import { execFile } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { holdfast } from '../../src/index.ts'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { Terminal } from './terminal.ts'

const terminal = new Terminal()
let bed: Testbed
const servers = new Map<string, Server>()

beforeAll(async () => {
  await requireServers(['postgres', 'mariadb'])
  bed = await testbed()
  servers.set('postgres', await bed.postgres())
  servers.set('mysql', await bed.mariadb())
}, 600_000)
afterAll(() => bed?.close())

/** The server's own program, as an administrator would use it. */
const PROGRAMS: Record<string, (port: number) => [string, string[]]> = {
  postgres: (port) => [
    'psql',
    ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres', '-v', 'ON_ERROR_STOP=1', '-q', '-X', 'postgres'],
  ],
  mysql: (port) => ['mariadb', ['--no-defaults', '-h', '127.0.0.1', '-P', String(port), '-u', 'root', 'test']],
}

function feed(kind: string, sql: string): Promise<void> {
  const [program, args] = PROGRAMS[kind]?.(servers.get(kind)?.port ?? 0) ?? ['false', []]
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, (error) => (error === null ? resolve() : reject(error)))
    child.stdin?.end(sql)
  })
}

describe.each(['postgres', 'mysql'])('migrate on %s', (kind) => {
  const url = (query = ''): string => `${servers.get(kind)?.url}${query}`

  it('says that a store without tables needs it, makes them, and may be repeated', async () => {
    const before = await terminal.holdfast('ls', '--store', url())
    expect(before.code).not.toBe(0)
    expect(before.err).toMatch(/no Holdfast tables.*holdfast migrate/)
    for (let i = 0; i < 2; i++) {
      expect(await terminal.holdfast('migrate', '--store', url())).toMatchObject({ code: 0, err: '' })
    }
    expect(await terminal.holdfast('ls', '--store', url())).toMatchObject({ code: 0, err: '' })
  })

  it('--print: what it prints does the same through the server’s own program, and connects to nothing', async () => {
    // No server listens at this address.
    const nowhere = `${kind}://nobody:secret@127.0.0.1:1/test?prefix=printed`
    const { code, out, err } = await terminal.holdfast('migrate', '--print', '--store', nowhere)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).not.toContain('secret')
    await feed(kind, out)
    // Again, over tables that are there: migrations are repeated.
    await feed(kind, out)
    const hf = await holdfast(url('?prefix=printed'))
    const held = await hf.mutex('printed').acquire()
    expect(await held.release()).toBe(true)
    // Nothing is left for setup to do.
    await hf.setup()
    await hf.close()
  })
})

it('migrate --print of a store that needs no tables is told so', async () => {
  const { code, err } = await terminal.holdfast('migrate', '--print', '--store', 'redis://127.0.0.1:1')
  expect(code).toBe(64)
  expect(err).toMatch(/only postgres: and mysql:/)
})
