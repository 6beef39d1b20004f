/** A MariaDB server whose root user needs no password. */
import type { Bed, StartOptions } from './bed.ts'
import { exchange } from './exchange.ts'
import { freePort } from './port.ts'
import type { Server } from './server.ts'
import { runTool } from './tool.ts'
import { otherUser } from './user.ts'

export interface MariadbOptions extends StartOptions {
  /** Whether commits reach the disk before they are answered; default false, since only a loss of power could tell. */
  readonly durable?: boolean
  /** Further options of mariadbd, without the dashes. */
  readonly config?: Readonly<Record<string, string | number>>
}

/** A MariaDB server, not yet started. */
export async function mariadbServer(bed: Bed, o: MariadbOptions = {}): Promise<Server> {
  const found = await bed.found('mariadb')
  const { name, dir } = await bed.folder('mariadb')
  const port = await freePort()
  // The server refuses to run as root.
  const user = await otherUser('mysql', 'nobody')
  const settings: Record<string, string | number> = {
    datadir: `${dir}/data`,
    tmpdir: `${dir}/data`,
    'bind-address': '127.0.0.1',
    port,
    // Relative to the data folder: a unix socket's path may have 107 bytes only.
    socket: 'mariadb.sock',
    'pid-file': 'mariadb.pid',
    'innodb-buffer-pool-size': '32M',
    'innodb-log-file-size': '8M',
    'innodb-flush-log-at-trx-commit': o.durable === true ? 1 : 2,
    'max-connections': 200,
    ...o.config,
  }
  return bed.add({
    name,
    dir,
    port,
    user,
    url: `mysql://root@127.0.0.1:${port}/test`,
    command: [
      found.path('mariadbd'),
      '--no-defaults',
      ...Object.entries(settings).map(([option, value]) => `--${option}=${value}`),
    ],
    ...(o.env === undefined ? {} : { env: o.env }),
    fill: async (data) => {
      const options = ['--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal']
      await runTool(found.path('mariadb-install-db'), [...options, '--innodb-log-file-size=8M'], { user, cwd: data })
    },
    ask: () => expectLogin(port),
  })
}

/** Answers the server's greeting with a login as root and waits for OK. */
async function expectLogin(port: number): Promise<void> {
  let sent = false
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

/** Protocol 4.1 with an empty password: flags, packet size, utf8mb4, 23 zeros, the user's name and no proof. */
function login(): Buffer {
  const flags = 0x0000_8200
  const payload = Buffer.concat([Buffer.alloc(32), Buffer.from('root\0\0')])
  payload.writeUInt32LE(flags, 0)
  payload.writeUInt32LE(1 << 24, 4)
  payload[8] = 45
  const head = Buffer.from([payload.length, 0, 0, 1])
  return Buffer.concat([head, payload])
}
