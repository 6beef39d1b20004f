/** `holdfast redlock init`: the first start of a Redlock deployment. */
import { UsageError } from '../core/errors.ts'
import { parseStoreUrl } from '../store-url.ts'
import type { Given, Syntax } from './args.ts'
import { STORE_HELP } from './command.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { print } from './output.ts'
import { publicUrl, storeUrl } from './store.ts'

export const syntax: Syntax = {
  command: 'redlock',
  options: { store: 'value', 'max-ttl': 'value' },
  operands: ['init'],
  runs: false,
}

export const help: string = `Tells the servers of a Redlock deployment that this is their first start, so that they give votes at once.

Usage: holdfast redlock init --store redlock://h1,h2,h3 [--max-ttl 60s]

  --max-ttl TIME  the longest lease of the deployment (default 60s): one constant for all clients, kept by the
                  servers. A server that restarts gives no votes for so long, since it may have forgotten some.
${STORE_HELP}

All servers must answer, and none may have been used before. Without it everything works too, one longest lease later.
Never use it to hurry up a server that restarted or lost its data: that is when two could hold at once.

Example:
  holdfast redlock init --store redlock://10.0.0.1,10.0.0.2,10.0.0.3`

export async function execute(given: Given): Promise<number> {
  if (given.operands[0] !== 'init') {
    throw new UsageError(`holdfast redlock knows only init, given ${JSON.stringify(given.operands[0]?.slice(0, 40))}`)
  }
  const url = storeUrl(given)
  const { rest, options } = parseStoreUrl(url, ['redlock'], { redlock: ['maxTtlMs', 'quorum', 'nodeTimeoutMs'] })
  const { initRedlock } = await import('../drivers/redlock/index.ts')
  const asked = given.values.get('max-ttl')
  const { servers, maxTtlMs, already } = await initRedlock(`redlock:${rest}`, {
    ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
    ...(options.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: options.connectTimeoutMs }),
    ...(asked === undefined ? {} : { maxTtlMs: parseDuration('--max-ttl', asked) }),
  })
  const state = already ? 'was started before' : 'is ready'
  print(`${publicUrl(url)} ${state}: ${servers} servers, longest lease ${formatDuration(maxTtlMs)}`)
  return EXIT.ok
}
