/**
 * The classic recipe, for lines shared with programs that use it: `SET key value NX PX ttl`, and compare-and-delete.
 * The key is the line's own name. Nobody queues, so waiting is asking again; there is no fencing token and no sharing.
 */
import { UnsupportedError } from '../../contract/errors.ts'
import { instant } from '../../contract/validity.ts'
import type { CellView, Driver, Entry, LineView, Place, Stop, Traits } from '../../contract/driver.ts'
import { system } from '../../system.ts'
import { wholeOf } from './replies.ts'
import { translate } from './errors.ts'
import { SET_NX_DELETE, SET_NX_RENAME, SET_NX_RENEW, SET_NX_TAKE } from './scripts.generated.ts'
import type { Transport } from './transport.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import { type Script, script } from '../../clients/redis/script.ts'

const TRAITS: Traits = Object.freeze({
  fair: false,
  fenced: false,
  counting: false,
  push: 'none',
  ttlMsMin: 50,
  lingers: true,
  scope: 'network',
  safety:
    'The classic recipe on one server: holds while it keeps its data and its clock does not jump. Nobody ' +
    'queues, and there is no token that a guard could check.',
})

const TAKE = script(SET_NX_TAKE)
const RENEW = script(SET_NX_RENEW)
const RENAME = script(SET_NX_RENAME)
const DELETE = script(SET_NX_DELETE)
/** A waiter asks again after 50 to 150 ms; all at once would meet again and again. */
const POLL_MS = 50

/** The keys of a plain `SET NX`, for moving over: no queue and no tokens. */
export class SetNxDriver implements Driver {
  readonly name = 'redis set-nx'
  readonly traits: Traits = TRAITS
  readonly #transport: Transport
  /** Ids that were granted here: what has lapsed of them never comes back. */
  readonly #granted = new Map<string, bigint>()
  #lastToken = 0n
  #closing: Promise<void> | null = null

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Connects and looks at the server. Not needed: without it the first use connects, and what is wrong is said then.
   */
  async open(): Promise<void> {
    try {
      await this.#transport.open()
    } catch (error) {
      throw translate(error, this.#transport.where)
    }
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    if (entry.weight !== entry.capacity) {
      throw new UnsupportedError('a set-nx lock has one holder: no permits and no read locks', { line: entry.line })
    }
    const place = this.#granted.has(entry.id) ? await this.#renew(entry) : await this.#try(entry)
    return place === null || place.ahead === 0 || wait ? place : null
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return Promise.all(entries.map((entry) => (this.#granted.has(entry.id) ? this.#renew(entry) : this.#try(entry))))
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    this.#granted.delete(entry.id)
    if (afterMs > 0) await this.#run(RENEW, entry.line, [entry.id, afterMs])
    else await this.#run(DELETE, entry.line, [entry.id])
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const since = instant(system)
    const token = this.#granted.get(entry.id) ?? this.#granted.get(id) ?? this.#nextToken()
    const isOurs = wholeOf(await this.#run(RENAME, entry.line, [entry.id, id, entry.ttlMs])) === 1
    this.#granted.delete(entry.id)
    if (!isOurs) return null
    this.#granted.set(id, token)
    return { token, ahead: 0, recheckMs: null, since, wanted: false }
  }

  watch(): Stop {
    return () => undefined
  }

  // oxlint-disable-next-line require-yield
  async *list(): AsyncGenerator<LineView> {
    throw new UnsupportedError('a set-nx lock is a key like any other: nobody can tell which keys are locks')
  }

  async swap(): Promise<CellView> {
    throw new UnsupportedError('set-nx locks only: for cells, use redis()')
  }

  async break(line: string, now: boolean): Promise<number> {
    if (!now)
      throw new UnsupportedError('the holder of a set-nx lock can not be forbidden to renew it: break it with now', {
        line,
      })
    return wholeOf(await this.#run(DELETE, line, []))
  }

  close(): Promise<void> {
    this.#closing ??= this.#transport.close()
    return this.#closing
  }

  async #try(entry: Entry): Promise<Place> {
    const { line, id, ttlMs } = entry
    const since = instant(system)
    const isOurs = wholeOf(await this.#run(TAKE, line, [id, ttlMs])) === 1
    const token = this.#nextToken()
    if (isOurs) {
      this.#granted.set(id, token)
      return { token, ahead: 0, recheckMs: null, since, wanted: false }
    }
    const recheckMs = POLL_MS + Math.round(system.random() * 2 * POLL_MS)
    return { token, ahead: 1, recheckMs, since, wanted: false }
  }

  async #renew(entry: Entry): Promise<Place | null> {
    const since = instant(system)
    const token = this.#granted.get(entry.id) ?? this.#nextToken()
    if (wholeOf(await this.#run(RENEW, entry.line, [entry.id, entry.ttlMs])) === 1) {
      return { token, ahead: 0, recheckMs: null, since, wanted: false }
    }
    this.#granted.delete(entry.id)
    return null
  }

  /** Only for people: this process's clock, and no promise. */
  #nextToken(): bigint {
    const now = BigInt(Math.floor(system.wallNow() * 1_000))
    this.#lastToken = now > this.#lastToken ? now : this.#lastToken + 1n
    return this.#lastToken
  }

  async #run(of: Script, line: string, args: readonly Argument[]): Promise<unknown> {
    try {
      return await this.#transport.run(of, [line], args)
    } catch (error) {
      throw translate(error, this.#transport.where, line)
    }
  }
}
