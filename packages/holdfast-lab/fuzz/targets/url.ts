/** URLs of stores: any text, and a password of any bytes, of which no error and nothing that is shown tells a part. */
import { inspect } from 'node:util'
import { addressesOf } from '../../../holdfast/src/cli/refused.ts'
import { publicUrl, urlOption } from '../../../holdfast/src/cli/store.ts'
import { HoldfastError } from '../../../holdfast/src/contract/errors.ts'
import { parseRedisUrl } from '../../../holdfast/src/clients/redis/url.ts'
import { parseStoreUrl, type StoreUrl } from '../../../holdfast/src/store-url.ts'
import { resolveEtcd } from '../../../holdfast/src/stores/etcd/options.ts'
import { parseTopology } from '../../../holdfast/src/stores/redis/topology.ts'
import { parseRedlockUrl } from '../../../holdfast/src/stores/redlock/options.ts'
import { STORES } from '../../../holdfast/src/stores/registry.ts'
import { addressOf } from '../../../holdfast/src/stores/sql/mysql/address.ts'
import { secureUrl } from '../../../holdfast/src/stores/sql/postgres/tls.ts'
import { fromStoreUrl } from '../../../holdfast/src/stores/zookeeper/options.ts'
import { Chroot } from '../../../holdfast/src/clients/zookeeper/chroot.ts'
import { Fault, type Target, textOf } from '../target.ts'

const CANARY = 'c4n4ry'

/** What the store of this URL reads before any connection. */
function readFor(url: StoreUrl, text: string): void {
  const address = `${url.scheme}:${url.rest}`
  if (/^rediss?$/.test(url.scheme)) parseRedisUrl(address)
  else if (/^rediss?\+/.test(url.scheme)) parseTopology(address)
  else if (url.scheme === 'redlock') parseRedlockUrl(address)
  else if (/^etcds?$/.test(url.scheme)) resolveEtcd(text)
  else if (/^zookeepers?$/.test(url.scheme)) void new Chroot(fromStoreUrl(url, url.options).chroot)
  else if (/^mysqls?$/.test(url.scheme)) addressOf(text)
  else if (url.scheme.startsWith('postgres')) secureUrl(text)
}

function read(text: string): void {
  publicUrl(text, '/work')
  addressesOf(text)
  urlOption(text, 'ttlMs')
  readFor(parseStoreUrl(text, STORES), text)
}

function refuses(text: string): unknown {
  try {
    read(text)
    return null
  } catch (error) {
    if (error instanceof HoldfastError) return error
    throw error
  }
}

const SCHEMES = STORES.flatMap((store) => store.schemes).filter((scheme) => scheme !== 'memory' && scheme !== 'sqlite')

/** `scheme://user:c4n4ry…c4n4ry@host`: whatever stands in between, neither half may be shown. */
function withPassword(input: Buffer): void {
  const scheme = SCHEMES[(input[0] ?? 0) % SCHEMES.length] as string
  const text = `${scheme}://ann:${CANARY}${textOf(input.subarray(1))}${CANARY}@127.0.0.1:1,127.0.0.1:2/0`
  const error = refuses(text)
  // With an @ before the first ? it is a URL with a query, which may be shown.
  if (/^[^?]*@[^?]*\?/.test(text)) return
  if (error !== null && inspect(error, { depth: 9, showHidden: true }).includes(CANARY)) {
    throw new Fault(`an error of ${scheme}: shows a part of the password`)
  }
  // Only of a URL that can be opened: nothing is shown or handed on of another. Behind a ? it is no password any more.
  if (error === null && !text.includes('?') && publicUrl(text, '/work').includes(CANARY))
    throw new Fault(`what is handed on of a URL of ${scheme}: has a part of the password`)
}

export const url: Target = {
  name: 'url',
  says: 'store URLs, and passwords in them',
  seeds: [
    'redis://ann:secret@localhost:6379/3?ttlMs=1000&prefix=app&label=x',
    'rediss+sentinel://ann:pw@h1:26379,h2/primary/0?sentinelPassword=x',
    'redis+cluster://:pw@[::1]:6379,h2',
    'redlock://a:b@h1,h2:6380,h3/1?quorum=2',
    'etcds://root:pw@h1:2379,h2?layout=go',
    'zookeeper://u:p@h1:2181,h2/app/locks?layout=curator',
    'postgres://u:p@h/db?sslmode=verify-full&schema=locks&listenUrl=postgres%3A%2F%2Fu%3Ap%40h2%2Fdb',
    'mysqls://u:p@h/db?connections=4&doorbell=true',
    'sqlite:/tmp/x%20y.db?report=true',
    'memory:shared?fairness=strict',
    'p%40ss%3Aword',
    'p?ttlMs=1&x=y',
  ].map((text) => Buffer.from(text)),
  words: [
    '://',
    '@',
    ':',
    '?',
    '&',
    '=',
    '%',
    '%zz',
    '%2F',
    '#',
    '/',
    '[',
    ']',
    ',',
    'ttlMs=',
    'label=',
    'password=',
    '\\',
    '\n',
  ],
  run(input) {
    withPassword(input)
    read(textOf(input))
  },
}
