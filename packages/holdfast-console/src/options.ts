/** The options of a console, and how wrong ones are refused. */
import { UsageError } from 'holdfast'
import { checkWhole } from 'holdfast/internal'

/** A limiter to show. Give the same numbers as the program that uses it. */
export interface WatchedLimiter {
  readonly name: string
  readonly limit: number
  readonly perMs: number
  /** Default: `limit`. */
  readonly burst?: number
  /** The keys to show, at most 50. */
  readonly keys: readonly string[]
}

/** A change that somebody asked this console for, done or refused. */
export interface AuditLine {
  readonly atMs: number
  readonly action: 'break'
  readonly lock: string
  readonly now: boolean
  /** How many holders lost the lock; null: the change was refused, or failed. */
  readonly broken: number | null
  /** Who held the lock, as far as the console saw. */
  readonly holders: readonly string[]
  /** The address of the browser. */
  readonly from: string
  /** '' if the change was done. */
  readonly error: string
}

export interface ConsoleOptions {
  /** How the page names the store, without a password. Default ''. */
  readonly store?: string
  /** Only locks whose names begin with this text. Default '': all. */
  readonly prefix?: string
  /** How often to look at the store; 250 to 3 600 000, default 1 000. Many locks make it slower by themselves. */
  readonly pollMs?: number
  /** The names under which browsers may call the console (`Host`), without ports. Default: those of loopback. */
  readonly hosts?: readonly string[]
  /** The path under which the handler is mounted, if the framework does not strip it. Default '/'. */
  readonly path?: string
  /** If given, readers need it: `Authorization: Bearer …`. At least 16 characters. Default: none. */
  readonly readToken?: string
  /** If given, whoever sends this token with each change can break locks. Default: read-only. */
  readonly allowBreak?: {
    /** At least 16 characters. */
    readonly token: string
    /** Called for each change, even for each refused one. */
    readonly audit: (line: AuditLine) => void
  }
  /**
   * Limiters to show beside those that processes report. Default: none; a store does not know which limiters there are.
   */
  readonly limiters?: readonly WatchedLimiter[]
}

export interface ConsoleSettings extends Required<Omit<ConsoleOptions, 'readToken' | 'allowBreak'>> {
  readonly readToken: string | null
  readonly allowBreak: NonNullable<ConsoleOptions['allowBreak']> | null
}

export const LOOPBACK: readonly string[] = Object.freeze(['localhost', '127.0.0.1', '[::1]'])
const POLL_MS = 1_000
const TOKEN_MIN = 16
const LIMITER_KEYS_MAX = 50
const KEYS = new Set(['store', 'prefix', 'pollMs', 'hosts', 'path', 'readToken', 'allowBreak', 'limiters'])

export function resolveConsole(options: ConsoleOptions = {}): ConsoleSettings {
  for (const key of Object.keys(options)) {
    if (!KEYS.has(key)) throw new UsageError(`console options has no ${key}; there are ${[...KEYS].join(', ')}`)
  }
  const { store = '', prefix = '', pollMs = POLL_MS, hosts = LOOPBACK, path = '/', limiters = [] } = options
  if (options.readToken !== undefined) checkToken('readToken', options.readToken)
  if (options.allowBreak !== undefined) {
    checkToken('allowBreak.token', options.allowBreak.token)
    if (typeof options.allowBreak.audit !== 'function') {
      throw new UsageError('allowBreak.audit must be a function: no change without a trace')
    }
  }
  if (!path.startsWith('/')) throw new UsageError(`path must begin with /, given ${JSON.stringify(path)}`)
  for (const { name, keys } of limiters) {
    if (keys.length === 0 || keys.length > LIMITER_KEYS_MAX) {
      throw new UsageError(`limiter ${JSON.stringify(name)}: 1 to ${LIMITER_KEYS_MAX} keys, given ${keys.length}`)
    }
  }
  return {
    store,
    prefix,
    pollMs: checkWhole('pollMs', pollMs, 250, 3_600_000),
    hosts: hosts.map((host) => host.toLowerCase()),
    path: path.endsWith('/') ? path : `${path}/`,
    readToken: options.readToken ?? null,
    allowBreak: options.allowBreak ?? null,
    limiters,
  }
}

export function checkToken(what: string, token: unknown): string {
  if (typeof token !== 'string' || token.length < TOKEN_MIN || !/^[\x21-\x7e]+$/.test(token)) {
    throw new UsageError(`${what} must have at least ${TOKEN_MIN} characters of ASCII, and no spaces`)
  }
  return token
}
