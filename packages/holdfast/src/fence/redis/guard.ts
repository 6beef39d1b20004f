/** A guard for data in Redis: the check and the write are one script, so nothing comes between them. */
import { checkKeys, checkName, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { Held } from '../../hold/held.ts'
import { replyOf, translate } from '../../stores/redis/errors.ts'
import { resolveSettings } from '../../stores/redis/options.ts'
import type { Transport } from '../../stores/redis/transport.ts'
import { type RedisClient, transportTo } from '../../stores/redis/transport-to.ts'
import { type Script, script } from '../../clients/redis/script.ts'
import type { StaleTokenError } from '../../contract/errors.ts'
import { type Proof, proofOf, staleToken } from '../proof.ts'
import { CALL, CHECK, FENCE, GUARDED } from './scripts.generated.ts'

/** Options of `redisGuard`. */
export interface RedisGuardOptions {
  /** The beginning of the guard's keys. Default 'holdfast'; 1 to 128 bytes, without braces. */
  readonly prefix?: string
}

/** A command with one key: its name, the key, and the rest. */
export type RedisCommand = readonly [command: string, key: string, ...args: (string | Buffer | number)[]]

/** Runs a script of your own behind the check; KEYS and ARGV are yours, from 1. */
export type GuardedScript = (
  resource: string,
  held: Held | Proof,
  keys?: readonly string[],
  args?: readonly (string | Buffer | number)[],
) => Promise<unknown>

/** Guards data in Redis. */
export interface RedisGuard {
  /** Passes the newest token and remembers it; throws StaleTokenError for an older one. For data that you will read. */
  check(resource: string, held: Held | Proof): Promise<void>
  /** Checks and runs one command on one key, in one step: `['SET', key, value]`, `['DEL', key]`, `['GET', key]`. */
  call(resource: string, held: Held | Proof, command: RedisCommand): Promise<unknown>
  /** A script of your own that runs only if its token passes, in one step with the check. */
  script(lua: string): GuardedScript
  /** The key that remembers the newest token of a resource: for a script of your own that begins with `fenceLua`. */
  key(resource: string): string
  /**
   * Forgets a resource: when it is gone for good, or before its lock moves to another store, whose tokens may be lower.
   */
  forget(resource: string): Promise<void>
  /** Closes the connection, if the guard opened it. */
  close(): Promise<void>
}

/**
 * The beginning for a script that you run yourself: a function `holdfast_fence(key, token, place)`. It returns nil if
 * the token may act, else the newest token. `staleReply` reads what `return redis.error_reply('HFSTALE ' .. newest)`
 * gives.
 */
export const fenceLua: string = FENCE

const [CHECKED, CALLED] = [guarded(CHECK), guarded(CALL)]

/**
 * @param store `redis[s]://…`, `redis+sentinel://…`, `redis+cluster://…`, or a client of ioredis or @redis/client.
 */
export function redisGuard(store: string | URL | RedisClient, options?: RedisGuardOptions): RedisGuard {
  checkKeys('redisGuard options', options, ['prefix'])
  const settings = resolveSettings(options)
  return new LuaGuard(transportTo(store, settings), settings.prefix)
}

class LuaGuard implements RedisGuard {
  readonly #transport: Transport
  readonly #prefix: string

  constructor(transport: Transport, prefix: string) {
    this.#transport = transport
    this.#prefix = prefix
  }

  async check(resource: string, held: Held | Proof): Promise<void> {
    await this.#run(CHECKED, resource, held, [], [])
  }

  async call(resource: string, held: Held | Proof, command: RedisCommand): Promise<unknown> {
    if (!Array.isArray(command) || typeof command[0] !== 'string' || typeof command[1] !== 'string') {
      throw new UsageError(`a command must be an array of its name, its key and the rest, given ${shown(command)}`)
    }
    const [name, key, ...args] = command as RedisCommand
    return this.#run(CALLED, resource, held, [key], [name, ...args])
  }

  script(lua: string): GuardedScript {
    if (typeof lua !== 'string') throw new UsageError(`a script must be a string, given ${shown(lua)}`)
    const own = guarded(lua)
    return async (resource, held, keys = [], args = []) => this.#run(own, resource, held, keys, args)
  }

  /**
   * On a cluster the guard's key must live with the keys that it guards. A resource that names a hash tag, such as
   * `{42}:stock`, has its key under that tag; any other name is a tag itself. The two forms never make the same key.
   */
  key(resource: string): string {
    checkName('a resource', resource)
    const isTagged = /^[^{]*\{[^}]+\}/.test(resource)
    return isTagged ? `${this.#prefix}:fence::${resource}` : `${this.#prefix}:fence:{${resource}}`
  }

  async forget(resource: string): Promise<void> {
    const key = this.key(resource)
    try {
      await this.#transport.run(FORGOTTEN, [key], [])
    } catch (error) {
      throw translate(error, this.#transport.where)
    }
  }

  close(): Promise<void> {
    return this.#transport.close()
  }

  async #run(
    code: Script,
    resource: string,
    held: Held | Proof,
    keys: readonly string[],
    args: readonly (string | Buffer | number)[],
  ): Promise<unknown> {
    const key = this.key(resource)
    const proof = proofOf(held)
    try {
      return await this.#transport.run(code, [...keys, key], [...args, String(proof.token), proof.place])
    } catch (error) {
      throw staleReply(error, resource, proof) ?? translate(error, this.#transport.where, proof.line)
    }
  }
}

/**
 * The refusal behind a reply `HFSTALE` of a script of your own, whichever client read the reply; null: another error.
 */
export function staleReply(error: unknown, resource: string, held: Held | Proof): StaleTokenError | null {
  const match = /^HFSTALE (\d+)/.exec(replyOf(error) ?? '')
  return match === null ? null : staleToken(resource, proofOf(held), BigInt(match[1] as string))
}

const FORGOTTEN: Script = script("return redis.call('DEL', KEYS[1])")

function guarded(lua: string): Script {
  return script(`${FENCE}${GUARDED}${lua}`)
}
