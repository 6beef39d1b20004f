/** Reads a store's URL. An error never shows a password: what is shown of a URL has the passwords removed. */
import { UsageError } from './contract/errors.ts'
import type { HoldfastOptions } from './contract/options.ts'
import type { StoreOpener } from './stores/shared/opener.ts'

export interface StoreUrl {
  /** What stands before the colon, such as 'redis' or 'redis+sentinel'. */
  readonly scheme: string
  /** What stands between the scheme and the query. */
  readonly rest: string
  /** Those parameters of the query that are options of Holdfast. */
  readonly options: HoldfastOptions
  /** All other parameters of the query, as written: settings of the store itself. */
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

/** Refuses a scheme that no store has, and a setting that the store does not have. */
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
  const rest = match[2] ?? ''
  const query = match[3] ?? ''
  // In `postgres://ann:1/2@host`, is "ann" a host, 1 a port and the rest a database, or is `1/2` a password? The first
  // reading would connect to a stranger, and would show the rest of the password as a name. The same holds for
  // `redis://ann:x?label=y@host`. So both are refused.
  if (/^\/\/[^/]+\/.*@/s.test(rest) || (query.includes('@') && /^\/\/[^@[]*:(?!\d*([/,]|$))[^@]*$/s.test(rest))) {
    throw new UsageError('an @, / or ? in the user, password or path of a store URL must be written %40, %2F or %3F')
  }
  return { scheme, rest, ...parseQuery(query, store.settings) }
}

function parseQuery(query: string, own: readonly string[]): Pick<StoreUrl, 'options' | 'settings'> {
  const options: Record<string, unknown> = {}
  const settings: Record<string, string> = {}
  for (const [key, value] of new URLSearchParams(query)) {
    if (!KEYS.includes(key) && !own.includes(key)) {
      const known = [...KEYS, ...own].join(', ')
      throw new UsageError(`a store URL has no option ${shownKey(key)}; there are ${known}`)
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
      throw new UsageError(`${key} in the store URL must be a number, given ${shownValue(value)}`)
    return number
  }
  if (BOOLEANS.includes(key)) {
    if (value !== 'true' && value !== 'false') {
      throw new UsageError(`${key} in the store URL must be true or false, given ${shownValue(value)}`)
    }
    return value === 'true'
  }
  return value
}

/**
 * In `redis://:pass?word@host` the author meant a password where we see a query. So show only what looks like the name
 * of an option.
 */
function shownKey(key: string): string {
  return /^[a-z]{1,40}$/i.test(key) ? JSON.stringify(key) : 'of that name (a ? in a password must be written %3F)'
}

/** The same for a value: if there is an @, the query may have begun inside a password. */
function shownValue(value: string): string {
  return value.includes('@') ? 'another text' : JSON.stringify(value)
}

/**
 * What an error may show of an unreadable URL: nothing after the first colon, because a password could stand anywhere.
 */
function shownStart(text: string): string {
  const start = /^[^:/@?#]{0,40}/.exec(text)?.[0] ?? ''
  return JSON.stringify(start.length < text.length ? `${start}:…` : start)
}
