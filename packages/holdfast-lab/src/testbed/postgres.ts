/** A PostgreSQL server with one trusted user. */
import type { Bed, StartOptions } from './bed.ts'
import { exchange } from './exchange.ts'
import { freePort } from './port.ts'
import type { Server } from './server.ts'
import { runTool } from './tool.ts'
import { otherUser } from './user.ts'

export interface PostgresOptions extends StartOptions {
  /** Whether commits reach the disk before they are answered; default false, since only a loss of power could tell. */
  readonly durable?: boolean
  /**
   * A streaming standby of that server, which must run: a copy of it, and read-only until it is promoted. A function is
   * called whenever the data folder is empty; null: an empty database.
   */
  readonly standbyOf?: Server | (() => { readonly port: number } | null)
  /** Further settings, by name. */
  readonly config?: Readonly<Record<string, string | number>>
}

/** A PostgreSQL server, not yet started. */
export async function postgresServer(bed: Bed, o: PostgresOptions = {}): Promise<Server> {
  const found = await bed.found('postgres')
  const { name, dir } = await bed.folder('postgres')
  const port = await freePort()
  // The server and initdb refuse to run as root.
  const user = await otherUser('postgres', 'nobody')
  const settings: Record<string, string | number> = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    // Files of the data folder and not of /dev/shm, where a crash would leave them behind.
    dynamic_shared_memory_type: 'mmap',
    shared_buffers: '16MB',
    max_connections: 200,
    fsync: o.durable === true ? 'on' : 'off',
    ...o.config,
  }
  return bed.add({
    name,
    dir,
    port,
    user,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    command: [
      found.path('postgres'),
      '-D',
      `${dir}/data`,
      ...Object.entries(settings).flatMap(([setting, value]) => ['-c', `${setting}=${value}`]),
    ],
    ...(o.env === undefined ? {} : { env: o.env }),
    fill: async (data) => {
      const source = typeof o.standbyOf === 'function' ? o.standbyOf() : o.standbyOf
      if (source !== undefined && source !== null) {
        const from = ['--host=127.0.0.1', `--port=${source.port}`, '--username=postgres']
        const options = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync']
        await runTool(found.path('pg_basebackup'), [...from, ...options, '-D', data], { user, cwd: data })
        return
      }
      const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-sync']
      await runTool(found.path('initdb'), ['-D', data, ...options], { user, cwd: data })
    },
    ask: () => expectReady(port),
    // SIGTERM would wait for all clients to leave.
    stopSignal: 'SIGINT',
    untidy: true,
  })
}

/** Logs in and waits for ReadyForQuery; a server that still starts or recovers answers with an error instead. */
export async function expectReady(port: number): Promise<void> {
  await exchange({ port, send: postgresHello(), done: isReady })
}

/** What a session begins with; the trusted user is then logged in. */
export function postgresHello(): Buffer {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0')
  const head = Buffer.alloc(8)
  head.writeInt32BE(8 + parameters.length, 0)
  head.writeInt32BE(196_608, 4)
  return Buffer.concat([head, parameters])
}

function isReady(bytes: Buffer): boolean {
  for (let at = 0; at + 5 <= bytes.length; at += 1 + bytes.readInt32BE(at + 1)) {
    const type = String.fromCharCode(bytes[at] ?? 0)
    if (type === 'E') throw new Error(bytes.toString('utf8', at + 5).replaceAll('\0', ' '))
    if (type === 'Z') return true
  }
  return false
}
