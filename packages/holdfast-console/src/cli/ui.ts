/** `holdfast ui`, which is `holdfast-console`: starts the console, and prints its address. */
import { holdfast } from 'holdfast'
import {
  checkWhole,
  complain,
  type Given,
  parseDuration,
  print,
  printable,
  publicUrl,
  signalExit,
  storeUrl,
  type Syntax,
} from 'holdfast/internal'
import { lockConsole } from '../handler.ts'
import { type Address, addressOf, listen } from './listen.ts'
import { readLimits } from './limits.ts'
import type { AuditLine, ConsoleOptions } from '../options.ts'

export const syntax: Syntax = {
  command: 'ui',
  options: {
    store: 'value',
    port: 'value',
    host: 'value',
    hosts: 'value',
    prefix: 'value',
    poll: 'value',
    limits: 'value',
    'allow-break': 'flag',
    'token-file': 'value',
    'tls-cert': 'value',
    'tls-key': 'value',
  },
  operands: [],
  runs: false,
}

export const help: string = `Shows locks, holders and waiters of a store on a live page.

Usage: holdfast-console [--store URL] [--port N] [options]
       holdfast ui [--store URL] [--port N] [options]     the same, where both packages are installed

  --store URL         where the locks are kept; else $HOLDFAST_STORE, else a SQLite file of this user
  --port N            where to listen; else a free port
  --allow-break       locks can be broken: with the token that is printed at the start, for each change. Each leaves
                      one line of JSON on stderr
  --prefix P          only locks whose names begin with P
  --poll 1s           how often to look at the store; less often by itself when there are thousands of locks
  --limits SPEC       limiters to show: 'api=100/1s:alice,bob;mail=10/1m:all'. With a burst: 'api=100/1s/20:alice'
  --host ADDRESS      listen there instead of on 127.0.0.1. Anything but loopback needs a token of yours
  --hosts A,B         further names under which browsers may call the console
  --token-file FILE   the token to ask for, instead of a random one; or $HOLDFAST_CONSOLE_TOKEN
  --tls-cert FILE     serve https with this certificate
  --tls-key FILE      and its key

Exit code: 64 usage · 69 store out of reach, or the port is taken · 130 Ctrl-C

Examples:
  holdfast ui --store redis://localhost:6379
  holdfast ui --store redis://localhost:6379 --port 7000 --allow-break`

export async function execute(given: Given): Promise<number> {
  const address = addressOf(given)
  const port = given.values.get('port') ?? '0'
  const portNumber = checkWhole('--port', /^\d+$/.test(port) ? Number(port) : port, 0, 65_535)
  const poll = given.values.get('poll')
  const url = storeUrl(given)
  const options: ConsoleOptions = {
    store: publicUrl(url),
    prefix: given.values.get('prefix') ?? '',
    hosts: address.hosts,
    limiters: readLimits(given.values.get('limits') ?? ''),
    ...(poll === undefined ? {} : { pollMs: parseDuration('--poll', poll) }),
    ...(address.isLoopback && !address.isOwnToken ? {} : { readToken: address.token }),
    ...(given.flags.has('allow-break') ? { allowBreak: { token: address.token, audit } } : {}),
  }
  const hf = await holdfast(url)
  const page = lockConsole(hf, options)
  try {
    await using server = await listen(address, portNumber, page)
    greet(server.url, address, options)
    return signalExit(await interrupted())
  } finally {
    page.close()
    await hf.close()
  }
}

function greet(url: string, address: Address, { allowBreak, store }: ConsoleOptions): void {
  if (!address.isLoopback && address.tls === null) {
    complain('WARNING: without TLS whoever is on the way reads the token and the locks; give --tls-cert and --tls-key')
  }
  print(`Holdfast console: ${url}`)
  print(`store: ${printable(store ?? '')}`)
  if (allowBreak === undefined) print('read-only (--allow-break lets people break locks)')
  else if (address.isOwnToken) print('locks can be broken, with your token')
  else print(`locks can be broken, with this token: ${address.token}`)
}

function audit(line: AuditLine): void {
  process.stderr.write(`${JSON.stringify({ audit: line })}\n`)
}

function interrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve(signal))
  })
}
