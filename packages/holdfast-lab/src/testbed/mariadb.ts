/** A MariaDB or MySQL server whose root user needs no password. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bed, StartOptions } from './bed.ts'
import { exchange } from './exchange.ts'
import type { Found } from './find.ts'
import { freePort } from './port.ts'
import type { Server } from './server.ts'
import { runTool } from './tool.ts'
import { otherUser } from './user.ts'

export interface MariadbOptions extends StartOptions {
  /** Whether commits reach the disk before the answer; default false, because only a loss of power could tell. */
  readonly durable?: boolean
  /** Further options of mariadbd, without the dashes. */
  readonly config?: Readonly<Record<string, string | number>>
  /** Further arguments, asked for at each start; default none. */
  readonly perStart?: () => readonly string[]
  /** Leave the data folder empty, for a server that gets its data from another; default false. */
  readonly empty?: boolean
}

/** A MariaDB server, or a MySQL server if that was given; not yet started. */
export async function mariadbServer(bed: Bed, o: MariadbOptions = {}): Promise<Server> {
  const found = await bed.found('mariadb')
  const make = found.make === 'mysql' ? mysqlMake(found) : mariadbMake(found)
  const { name, dir } = await bed.folder(make.role)
  const port = await freePort()
  // The server refuses to run as root.
  const user = await otherUser('mysql', 'nobody')
  const init = join(dir, 'init.sql')
  await writeFile(init, INIT)
  const base = found.base === undefined ? [] : [`--basedir=${found.base}`]
  const settings: Record<string, string | number> = {
    datadir: `${dir}/data`,
    tmpdir: `${dir}/data`,
    'bind-address': '127.0.0.1',
    port,
    // Relative to the data folder: a unix socket's path may have 107 bytes only.
    socket: 'server.sock',
    'pid-file': 'server.pid',
    'init-file': init,
    'innodb-buffer-pool-size': '32M',
    'innodb-flush-log-at-trx-commit': o.durable === true ? 1 : 2,
    'max-connections': 200,
    ...make.settings,
    ...o.config,
  }
  return bed.add({
    name,
    dir,
    port,
    user,
    url: `mysql://root@127.0.0.1:${port}/test`,
    get command() {
      const options = Object.entries(settings).map(([option, value]) => `--${option}=${value}`)
      return [make.program, '--no-defaults', ...base, ...options, ...(o.perStart?.() ?? [])] as const
    },
    ...(o.env === undefined ? {} : { env: o.env }),
    fill: async (data) => {
      if (o.empty === true) return
      const [file, ...options] = make.fill
      // Not in /tmp: there two servers that fill their folders at once, each in a pid namespace of its own, take each
      // other's temporary tables for theirs. MySQL wants its folder empty.
      const tmp = found.make === 'mysql' ? [] : [`--tmpdir=${data}`]
      await runTool(file, ['--no-defaults', ...base, `--datadir=${data}`, ...tmp, ...options], { user, cwd: data })
    },
    ask: () => expectLogin(port),
  })
}

/** MySQL has no database called test, and its root may not come by TCP where names are not looked up. */
const INIT = `CREATE DATABASE IF NOT EXISTS test;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`

/** How MariaDB and MySQL are started differently. */
interface Make {
  readonly role: string
  readonly program: string
  readonly settings: Readonly<Record<string, string | number>>
  /** Fills an empty data folder: a program and its arguments. */
  readonly fill: readonly [file: string, ...args: string[]]
}

function mariadbMake(found: Found): Make {
  const log = '--innodb-log-file-size=8M'
  return {
    role: 'mariadb',
    program: found.path('mariadbd'),
    settings: { 'innodb-log-file-size': '8M' },
    fill: [found.path('mariadb-install-db'), '--auth-root-authentication-method=normal', log],
  }
}

function mysqlMake(found: Found): Make {
  const program = found.path('mysqld')
  return {
    role: 'mysql',
    program,
    settings: {
      'innodb-redo-log-capacity': '16M',
      // A second port, and a folder of the system's, which are not ours.
      mysqlx: 'OFF',
      'secure-file-priv': 'NULL',
    },
    fill: [program, '--initialize-insecure'],
  }
}

/**
 * Answers the server's greeting with a login as root and waits for OK. MariaDB makes proofs another way, and asks once
 * more: still none.
 */
async function expectLogin(port: number): Promise<void> {
  let [sent, switched] = [false, false]
  await exchange({
    port,
    done: (bytes) => {
      const greeting = packet(bytes, 0)
      if (greeting === null) return false
      if (greeting[0] === 0xff) throw new Error(greeting.toString('latin1', 3))
      if (!sent) {
        sent = true
        return login()
      }
      const reply = packet(bytes, 4 + greeting.length)
      if (reply === null) return false
      if (reply[0] === 0) return true
      if (reply[0] === 0xfe && !switched) {
        switched = true
        return Buffer.from([0, 0, 0, 3])
      }
      if (switched) return packet(bytes, 8 + greeting.length + reply.length)?.[0] === 0
      throw new Error(`login: ${reply.toString('latin1')}`)
    },
  })
}

/** The payload of the packet at an offset; null while it is not there as a whole. */
function packet(bytes: Buffer, at: number): Buffer | null {
  if (bytes.length < at + 4) return null
  const end = at + 4 + bytes.readUIntLE(at, 3)
  return bytes.length < end ? null : bytes.subarray(at + 4, end)
}

/**
 * Protocol 4.1 with an empty password: flags, packet size, utf8mb4, 23 zeros, the user's name, no proof, and how it was
 * made.
 */
function login(): Buffer {
  const flags = 0x0008_8200
  const payload = Buffer.concat([Buffer.alloc(32), Buffer.from('root\0\0caching_sha2_password\0')])
  payload.writeUInt32LE(flags, 0)
  payload.writeUInt32LE(1 << 24, 4)
  payload[8] = 45
  const head = Buffer.from([payload.length, 0, 0, 1])
  return Buffer.concat([head, payload])
}
