/** A Redis server, alone or as one of several. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bed, Group, StartOptions } from './bed.ts'
import { addresses, countOf } from './bed.ts'
import type { Identity } from './certificates.ts'
import { exchange } from './exchange.ts'
import { freePort } from './port.ts'
import type { Server } from './server.ts'

export interface RedisOptions extends StartOptions {
  /** Append-only file: 'no' (default), or with which fsync. Without it a restart is empty; snapshots are off. */
  readonly appendonly?: 'no' | 'everysec' | 'always'
  /** Password of the default user; none by default. It then stands in the URL. */
  readonly requirepass?: string
  /** Serves over TLS, and nothing else, with this certificate, and asks clients for none. Default: plain text. */
  readonly tls?: Identity
  /** The primary to replicate from, maybe through a fault proxy. */
  readonly replicaof?: { readonly host?: string; readonly port: number }
  /** Further lines of redis.conf, by directive. */
  readonly config?: Readonly<Record<string, string | number>>
}

/** A Redis server, not yet started. */
export async function redisServer(bed: Bed, o: RedisOptions = {}, role = 'redis'): Promise<Server> {
  const found = await bed.found('redis')
  const { name, dir } = await bed.folder(role)
  const port = await freePort()
  const password = o.requirepass ?? ''
  const file = join(dir, 'redis.conf')
  // A file and not arguments: Sentinel rewrites a node's configuration, and a restart must come back in its last role.
  await writeFile(file, redisConf(port, join(dir, 'data'), o, found.version), { mode: 0o600 })
  const scheme = o.tls === undefined ? 'redis' : 'rediss'
  const login = password === '' ? '' : `default:${encodeURIComponent(password)}@`
  return bed.add({
    name,
    dir,
    port,
    url: `${scheme}://${login}127.0.0.1:${port}`,
    command: [found.path('redis-server'), file],
    ...(o.env === undefined ? {} : { env: o.env }),
    ask: () => ping(port, password, o.tls?.pem),
  })
}

/** `count` Redis servers that know nothing of each other, as Redlock needs them. */
export async function startRedlock(bed: Bed, count: number, o: RedisOptions = {}): Promise<Group> {
  const servers: Server[] = []
  for (let i = 0; i < countOf('redlock', count); i++) servers.push(await redisServer(bed, o, 'redlock'))
  await bed.startAll(servers)
  const user = o.requirepass === undefined ? '' : `default:${encodeURIComponent(o.requirepass)}@`
  return { url: `redlock://${user}${addresses(servers)}`, servers }
}

function redisConf(port: number, data: string, o: RedisOptions, version: string): string {
  const appendonly = o.appendonly ?? 'no'
  const password =
    o.requirepass === undefined ? {} : { requirepass: quoted(o.requirepass), masterauth: quoted(o.requirepass) }
  const directives: Record<string, string | number> = {
    bind: '127.0.0.1',
    ...(o.tls === undefined ? { port } : tlsConf(port, o.tls)),
    dir: quoted(data),
    save: '""',
    appendonly: appendonly === 'no' ? 'no' : 'yes',
    appendfsync: appendonly === 'no' ? 'everysec' : appendonly,
    // The default waits 5 s for more replicas before it sends any of them its data.
    'repl-diskless-sync-delay': 0,
    'repl-ping-replica-period': 1,
    // Before version 7 it was always allowed, and the directive unknown.
    ...(Number.parseInt(version, 10) < 7 ? {} : { 'enable-debug-command': 'local' }),
    ...(o.replicaof === undefined ? {} : { replicaof: `${o.replicaof.host ?? '127.0.0.1'} ${o.replicaof.port}` }),
    ...password,
    ...o.config,
  }
  return Object.entries(directives)
    .map(([directive, value]) => `${directive} ${value}\n`)
    .join('')
}

/** For a Redis server and a Sentinel alike. */
export function tlsConf(port: number, { caFile, certFile, keyFile }: Identity): Record<string, string | number> {
  return {
    port: 0,
    'tls-port': port,
    'tls-cert-file': quoted(certFile),
    'tls-key-file': quoted(keyFile),
    'tls-ca-cert-file': quoted(caFile),
    'tls-auth-clients': 'no',
    'tls-replication': 'yes',
    'tls-cluster': 'yes',
  }
}

/** One argument of a Redis configuration line, whatever is in it. */
export function quoted(text: string): string {
  const escaped = [...Buffer.from(text)].map((byte) => {
    const plain = byte > 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c
    return plain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`
  })
  return `"${escaped.join('')}"`
}

async function ping(port: number, password: string, tls?: Identity['pem']): Promise<void> {
  const said = await redisAsk(port, password, ['PING'], tls)
  if (said !== '+PONG\r\n') throw new Error(`PING was answered with ${JSON.stringify(said)}`)
}

/** One command and the raw answer to it: a status, an error, an integer or a bulk string. */
export async function redisAsk(
  port: number,
  password: string,
  command: readonly string[],
  tls?: Identity['pem'],
): Promise<string> {
  const login = password === '' ? '' : frame(['AUTH', password])
  const answer = await exchange({
    port,
    tls,
    send: login + frame(command),
    done: (bytes) => replyEnd(bytes, password === '' ? 1 : 2) >= 0,
  })
  const text = answer.toString()
  return password === '' ? text : text.slice(replyEnd(answer, 1))
}

function frame(command: readonly string[]): string {
  return `*${command.length}\r\n${command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`
}

/** Where the nth answer ends; -1 while it is not there as a whole. */
function replyEnd(bytes: Buffer, count: number): number {
  let at = 0
  for (let i = 0; i < count; i++) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return -1
    const bulk = bytes[at] === 0x24 ? Number(bytes.toString('latin1', at + 1, line)) : -1
    at = bulk < 0 ? line + 2 : line + 2 + bulk + 2
    if (at > bytes.length) return -1
  }
  return at
}
