/** Reads a store's URL. Passwords never come out in an error: what is shown has them removed. */
import { UsageError } from './contract/errors.ts'
import type { HoldfastOptions } from './contract/options.ts'
import type { StoreOpener } from './stores/shared/opener.ts'

export interface StoreUrl {
  /** As written before the colon, such as 'redis' or 'redis+sentinel'. */
  readonly scheme: string
  /** What stands between the scheme and the query. */
  readonly rest: string
  /** The options among the query. */
  readonly options: HoldfastOptions
  /** What else stands in the query: settings of the store's own, as they were written. */
  readonly settings: Readonly<Record<string, string>>
}

const NUMBERS = [
  'history',
  'ttlMs',
  'maxHoldMs',
  'minHoldMs',
  'lockDelayMs',
  'handovers',
  'connectTimeoutMs',
  'silenceMs',
]
const BOOLEANS = ['report', 'renew', 'reentrant', 'refuseDeadlock']
const TEXTS = ['fairness', 'label', 'prefix', 'heartbeat']
const KEYS = [...NUMBERS, ...BOOLEANS, ...TEXTS]

/** Refuses a scheme that none of the stores has, and a setting that its store does not have. */
export function parseStoreUrl(text: string, stores: readonly Pick<StoreOpener, 'schemes' | 'settings'>[]): StoreUrl {
  const match = /^([a-z][a-z0-9+]*):([^?#]*)(?:\?([^#]*))?$/i.exec(text)
  const scheme = match?.[1]?.toLowerCase()
  const store = stores.find(({ schemes }) => schemes.includes(scheme ?? ''))
  if (match === null || scheme === undefined || store === undefined) {
    const schemes = stores.flatMap((one) => one.schemes)
    throw new UsageError(
      `a store URL must begin with one of ${schemes.map((s) => `${s}:`).join(' ')}; given ${shownStart(text)}`,
    )
  }
  return { scheme, rest: match[2] ?? '', ...parseQuery(match[3] ?? '', store.settings) }
}

function parseQuery(query: string, own: readonly string[]): Pick<StoreUrl, 'options' | 'settings'> {
  const options: Record<string, unknown> = {}
  const settings: Record<string, string> = {}
  for (const [key, value] of new URLSearchParams(query)) {
    if (!KEYS.includes(key) && !own.includes(key)) {
      const known = [...KEYS, ...own].join(', ')
      throw new UsageError(`a store URL has no option ${JSON.stringify(key)}; there are ${known}`)
    }
    if (key in options || key in settings) throw new UsageError(`the store URL gives ${key} twice`)
    if (own.includes(key)) settings[key] = value
    else options[key] = convert(key, value)
  }
  return { options, settings }
}

function convert(key: string, value: string): unknown {
  if (NUMBERS.includes(key)) {
    const number = value.trim() === '' ? Number.NaN : Number(value)
    if (Number.isNaN(number))
      throw new UsageError(`${key} in the store URL must be a number, given ${JSON.stringify(value)}`)
    return number
  }
  if (BOOLEANS.includes(key)) {
    if (value !== 'true' && value !== 'false') {
      throw new UsageError(`${key} in the store URL must be true or false, given ${JSON.stringify(value)}`)
    }
    return value === 'true'
  }
  return value
}

/** What may be shown of a URL that can't be read: nothing past the first colon, since a password could be anywhere. */
function shownStart(text: string): string {
  const start = /^[^:/@?#]{0,40}/.exec(text)?.[0] ?? ''
  return JSON.stringify(start.length < text.length ? `${start}:…` : start)
}
