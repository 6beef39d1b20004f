/** `holdfast redlock init` and `resize`: the first start of a Redlock deployment, and changes of its servers. */
import { UsageError } from '../contract/errors.ts'
import { parseStoreUrl, type StoreUrl } from '../store-url.ts'
import { store as redlock } from '../stores/redlock/open.ts'
import type { Given, Syntax } from './args.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { optionsHelp, STORE, value } from './option.ts'
import { print } from './output.ts'
import { publicUrl, storeUrl } from './store.ts'

export const syntax: Syntax = {
  command: 'redlock',
  options: {
    'max-ttl': value(
      'TIME',
      'for init, the longest lease of the deployment; default 60s. One constant for all clients, kept by the ' +
        'servers: a ' +
        'server that restarts gives no votes for so long, since it may have forgotten some.',
    ),
    from: value('URL', 'for resize, the servers there are, if most of them are not among the new ones'),
    store: STORE,
  },
  operands: ['init|resize'],
  runs: false,
}

export const help: string = `Sets up the servers of a Redlock deployment, and changes which servers it has.

Usage: holdfast redlock init --store redlock://h1,h2,h3 [--max-ttl 60s]
       holdfast redlock resize --store redlock://h1,h2,h4 [--from redlock://h1,h2,h3]

init tells the servers that this is their first start, so that they give votes at once. All must answer, and none may
have been used before. Without it everything works too, one longest lease later. Never use it to hurry up a server that
restarted or lost its data: that is when two could hold at once.

resize makes the servers of --store the servers of the deployment, while clients work: it adds, removes and replaces
them one by one, and waits for one longest lease between two changes. Servers that are taken in must be empty. It can be
run again if it was cut off. Then give every client the new list.

${optionsHelp(syntax.options)}

Examples:
  holdfast redlock init --store redlock://10.0.0.1,10.0.0.2,10.0.0.3
  holdfast redlock resize --store redlock://10.0.0.1,10.0.0.2,10.0.0.4                   replaces the third
  holdfast redlock resize --store redlock://10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5  three become five`

export async function execute(given: Given): Promise<number> {
  const [what] = given.operands
  const isInit = what === 'init'
  if (!isInit && what !== 'resize') {
    throw new UsageError(`holdfast redlock knows init and resize, given ${JSON.stringify(what?.slice(0, 40))}`)
  }
  for (const [option, belongs] of [
    ['max-ttl', 'init'],
    ['from', 'resize'],
  ] as const) {
    if (given.values.has(option) && belongs !== what) throw new UsageError(`--${option} belongs to redlock ${belongs}`)
  }
  const url = storeUrl(given)
  const { rest, options } = parse(url)
  const own = {
    ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
    ...(options.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: options.connectTimeoutMs }),
  }
  const { initRedlock, resizeRedlock } = await import('../stores/redlock/index.ts')
  if (isInit) {
    const asked = given.values.get('max-ttl')
    const maxTtl = asked === undefined ? {} : { maxTtlMs: parseDuration('--max-ttl', asked) }
    const { deployment, servers, maxTtlMs, already } = await initRedlock(`redlock:${rest}`, { ...own, ...maxTtl })
    const state = already ? 'was started before' : 'is ready'
    print(
      `${publicUrl(url)} ${state}: deployment ${deployment}, ${servers} servers, longest lease ` +
        formatDuration(maxTtlMs),
    )
    return EXIT.ok
  }
  const from = given.values.get('from')
  const { deployment, servers, changes } = await resizeRedlock(`redlock:${rest}`, {
    ...own,
    ...(from === undefined ? {} : { from: `redlock:${parse(from).rest}` }),
    onStep: print,
  })
  const state = changes === 0 ? 'had these servers already' : `has ${servers} servers now. Give every client this list`
  print(`deployment ${deployment} ${state}: ${publicUrl(url)}`)
  return EXIT.ok
}

function parse(url: string): StoreUrl {
  return parseStoreUrl(url, [redlock])
}
