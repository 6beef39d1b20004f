/**
 * A PgBouncer in front of a PostgreSQL server: a transaction pooler, which gives each transaction whichever connection
 * is free.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bed, StartOptions } from './bed.ts'
import { freePort } from './port.ts'
import { expectReady } from './postgres.ts'
import type { Server } from './server.ts'
import { otherUser } from './user.ts'

export interface PgbouncerOptions extends StartOptions {
  /** Connections to the server, shared by all clients; default 4: fewer than those who want one. */
  readonly connections?: number
}

/** A pooler of that server, not yet started. */
export async function pgbouncerServer(bed: Bed, server: Server, o: PgbouncerOptions = {}): Promise<Server> {
  const found = await bed.found('pgbouncer')
  const { name, dir } = await bed.folder('pgbouncer')
  const port = await freePort()
  // It refuses to run as root.
  const user = await otherUser('postgres', 'nobody')
  const file = join(dir, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `postgres = host=127.0.0.1 port=${server.port} dbname=postgres user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${o.connections ?? 4}`,
    'max_client_conn = 500',
    'ignore_startup_parameters = extra_float_digits',
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  return bed.add({
    name,
    dir,
    port,
    user,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    command: [found.path('pgbouncer'), file],
    ...(o.env === undefined ? {} : { env: o.env }),
    ask: () => expectReady(port),
  })
}
