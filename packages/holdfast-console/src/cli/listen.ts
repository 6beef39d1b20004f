/** Where the console listens, and what readers need there: nothing on loopback, a token anywhere else. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { StoreError, UsageError } from 'holdfast'
import { type Given, usage } from 'holdfast/internal'
import type { LockConsole } from '../handler.ts'
import { checkToken, LOOPBACK } from '../options.ts'

export interface Address {
  readonly host: string
  readonly isLoopback: boolean
  /** The names that browsers may call. */
  readonly hosts: readonly string[]
  readonly token: string
  /** True: the user gave the token, so it is not shown. */
  readonly isOwnToken: boolean
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null
}

const TOKEN_BYTES = 18

export function addressOf(given: Given, env: NodeJS.ProcessEnv = process.env): Address {
  const host = given.values.get('host') ?? '127.0.0.1'
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/.test(host)
  const own = ownToken(given, env)
  if (!isLoopback && own === null) {
    throw usage(
      { command: 'ui' },
      `--host ${host} is not loopback: others can reach the console there, so it needs a token: set ` +
        'HOLDFAST_CONSOLE_TOKEN, or give --token-file FILE',
    )
  }
  const named = (given.values.get('hosts') ?? '').split(',').filter((name) => name !== '')
  return {
    host,
    isLoopback,
    hosts: [...LOOPBACK, host.includes(':') ? `[${host}]` : host, ...named],
    token: own ?? randomBytes(TOKEN_BYTES).toString('base64url'),
    isOwnToken: own !== null,
    tls: tlsOf(given),
  }
}

function ownToken(given: Given, env: NodeJS.ProcessEnv): string | null {
  const file = given.values.get('token-file')
  if (file !== undefined) return checkToken(`the token in ${file}`, read('--token-file', file).toString().trim())
  const text = env.HOLDFAST_CONSOLE_TOKEN ?? ''
  return text === '' ? null : checkToken('HOLDFAST_CONSOLE_TOKEN', text)
}

function tlsOf(given: Given): Address['tls'] {
  const cert = given.values.get('tls-cert')
  const key = given.values.get('tls-key')
  if (cert === undefined && key === undefined) return null
  if (cert === undefined || key === undefined) throw usage({ command: 'ui' }, '--tls-cert and --tls-key go together')
  return { cert: read('--tls-cert', cert), key: read('--tls-key', key) }
}

function read(option: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(`${option} ${JSON.stringify(file)} can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** Listens until it is disposed. */
export async function listen(
  { host, tls }: Address,
  port: number,
  page: LockConsole,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = tls === null ? createServer(page) : createTlsServer(tls, page)
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error)
    throw new StoreError(`the console can't listen on ${host} port ${port}: ${why}`, { cause: error })
  }
  const bound = server.address() as AddressInfo
  const shown = host.includes(':') ? `[${host}]` : host
  return {
    url: `${tls === null ? 'http' : 'https'}://${shown}:${bound.port}/`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
