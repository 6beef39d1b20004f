/** The Redis driver: each step of a line is one script on one key, judged by the server's clock. */
import { CELL_TOMBSTONE_MS } from '../shared/tombstones.ts'
import { type HoldfastError, StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import { instant } from '../../contract/validity.ts'
import {
  type CellView,
  type Change,
  type Demand,
  type Driver,
  type Entry,
  type Instant,
  type LineView,
  type Place,
  type Stop,
  type Taken,
  type Traits,
  type Wake,
  isGranted,
} from '../../contract/driver.ts'
import { system } from '../../system.ts'
import { listOf, readCell, readPlace, readPlaces, readTaken, readTogether, readView, wholeOf } from './replies.ts'
import { kindOf, replyOf, translate } from './errors.ts'
import { Wakeups } from './wakeups.ts'
import { Keys } from './keys.ts'
import type { Settings } from './options.ts'
import { type Scripts, scriptsFor } from './scripts.ts'
import { ScriptBatch, BatchArgs } from './batch.ts'
import type { Transport, ReplicaWait } from './transport.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import type { Script } from '../../clients/redis/script.ts'

const TRAITS: Traits = Object.freeze({
  fair: true,
  fenced: true,
  counting: true,
  push: 'answer',
  ttlMsMin: 50,
  lingers: true,
  scope: 'network',
  safety:
    'Holds while one primary keeps its data and its clock does not jump. A failover, a restart without data or ' +
    'an eviction may forget a hold that was confirmed; tokens still rise then, unless the clock went back as well.',
})

/** Lines in one look, and places shown of each. */
const VIEW_LINES = 250
const VIEW_PLACES = 10_000

/** The store on one Redis or Valkey, a Sentinel or a Cluster. */
export class RedisDriver implements Driver {
  readonly name = 'redis'
  readonly traits: Traits
  readonly #transport: Transport
  readonly #keys: Keys
  readonly #scripts: Scripts
  readonly #wakeups: Wakeups
  readonly #lines: ScriptBatch
  readonly #takes: ScriptBatch
  readonly #enterArgs: BatchArgs
  readonly #leaveArgs: BatchArgs
  readonly #retentionMs: number
  readonly #wait: ReplicaWait | null
  #last = { capacity: 0, ttlMs: 0, weight: 0, text: '' }
  #lastDemand: Demand | null = null
  #lastWish: readonly Argument[] = []
  #closing: Promise<void> | null = null

  /** @internal */
  constructor(transport: Transport, settings: Settings) {
    this.#transport = transport
    this.#lines = new ScriptBatch(transport, true)
    this.#takes = new ScriptBatch(transport, false)
    this.#keys = new Keys(settings.prefix)
    this.#scripts = scriptsFor(transport.keyPrefix + settings.prefix)
    const { retentionMs } = settings
    this.#retentionMs = retentionMs
    this.#enterArgs = new BatchArgs((ttlMs, wait) => [ttlMs, ttlMs + retentionMs, wait])
    this.#leaveArgs = new BatchArgs((ttlMs, afterMs) => [retentionMs, ttlMs, afterMs > 0 ? afterMs : ''])
    const { replicas, replicasTimeoutMs } = settings
    this.#wait = replicas === 0 ? null : { replicas, timeoutMs: replicasTimeoutMs }
    // A pushed grant is not yet known to be on the replicas: it must be asked for.
    this.traits = replicas === 0 ? TRAITS : Object.freeze({ ...TRAITS, push: 'hint' })
    this.#wakeups = new Wakeups(transport, this.#keys, inboxId(), (line, ms) =>
      this.#run(this.#scripts.observe, this.#keys.line(line), [ms, this.#retentionMs], line),
    )
  }

  /**
   * Connects and looks at the server. Not needed: without it the first use connects, and what is wrong is said then.
   */
  async open(): Promise<void> {
    try {
      await this.#transport.open()
    } catch (error) {
      throw this.#fault(error)
    }
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const since = instant(system)
    const { ttlMs, line } = entry
    const shared = this.#enterArgs.of(ttlMs, wait ? 1 : 0)
    const sent = this.#sent(entry)
    if (this.#wait !== null) return this.#enterAndWait(entry, [...shared, sent], since, this.#wait)
    return this.#lines.run(this.#scripts.enter, shared, {
      keys: this.#keys.line(line),
      own: sent,
      read: (reply) => readPlace(reply, entry, since),
      fault: (error) => this.#fault(error, line),
    })
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const since = instant(system)
    const byLine = new Map<string, Entry[]>()
    for (const entry of entries) {
      const same = byLine.get(entry.line)
      if (same === undefined) byLine.set(entry.line, [entry])
      else same.push(entry)
    }
    const calls = this.#transport.joins ? [[...byLine.values()]] : [...byLine.values()].map((same) => [same])
    const places = new Map<Entry, Place | null>()
    await Promise.all(
      calls.map(async (lines) => {
        const keys = lines.flatMap(([first]) => this.#keys.line((first as Entry).line))
        const args: Argument[] = [this.#retentionMs]
        for (const same of lines) args.push(same.length, ...same.map(({ id }) => id))
        const asked = lines.flat()
        const reply = await this.#renew(this.#scripts.touch, keys, args, asked[0]?.line)
        for (const [i, place] of readPlaces(reply, asked, since).entries()) places.set(asked[i] as Entry, place)
      }),
    )
    return entries.map((entry) => places.get(entry) ?? null)
  }

  leave(entry: Entry, afterMs = 0): Promise<void> {
    const { line, id, ttlMs } = entry
    const shared = this.#leaveArgs.of(ttlMs, afterMs)
    return this.#lines.run(this.#scripts.leave, shared, {
      keys: this.#keys.line(line),
      own: `0${id}`,
      // Many in front of the next one were dead. One call does so much at most, and others are served between two.
      read: (reply) => (Number(reply) === 2 ? this.leave(entry) : undefined),
      fault: (error) => this.#fault(error, line),
    })
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    if (id === null) return this.#wakeups.observe(line, wake).catch((error: unknown) => this.#reject(error, line))
    const watch = this.#wakeups.watch(id, wake)
    return typeof watch === 'function' ? watch : watch.catch((error: unknown) => this.#reject(error, line))
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    const seen = new Set<string>()
    const { keyPrefix, joins } = this.#transport
    try {
      for await (const keys of this.#transport.scan(this.#keys.pattern(prefix, keyPrefix))) {
        const names: string[] = []
        for (const key of keys) {
          const name = this.#keys.nameOf(key.slice(keyPrefix.length))
          if (name === null || seen.has(name)) continue
          seen.add(name)
          names.push(name)
        }
        const step = joins ? VIEW_LINES : 1
        for (let i = 0; i < names.length; i += step) yield* await this.#look(names.slice(i, i + step))
      }
    } catch (error) {
      throw this.#fault(error)
    }
  }

  async view(line: string): Promise<LineView | null> {
    return (await this.#look([line]))[0] ?? null
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    const args =
      change === null
        ? []
        : [
            String(change.version),
            change.next === null ? 0 : 1,
            change.next ?? '',
            change.ttlMs,
            change.nonce,
            CELL_TOMBSTONE_MS,
            this.#retentionMs,
          ]
    return readCell(await this.#run(this.#scripts.swap, [this.#keys.cell(key)], args))
  }

  async break(line: string, now: boolean): Promise<number> {
    return wholeOf(await this.#run(this.#scripts.break, this.#keys.line(line), [now ? 1 : 0, this.#retentionMs], line))
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const lines = new Set(entries.map(({ line }) => line))
    // A script sees one node of a cluster, and each line has a slot of its own. With replicas to wait for, each grant
    // by itself.
    if (!this.#transport.joins || this.#wait !== null || lines.size < entries.length) return null
    const since = instant(system)
    const keys = entries.flatMap(({ line }) => this.#keys.line(line))
    const args = [this.#retentionMs, ...entries.map((entry) => this.#sent(entry))]
    return readTogether(await this.#run(this.#scripts.enterAll, keys, args), entries, since)
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const since = instant(system)
    const args = [entry.id, this.#sent({ ...entry, id }), this.#retentionMs]
    return readPlace(
      await this.#renew(this.#scripts.rename, this.#keys.line(entry.line), args, entry.line),
      entry,
      since,
    )
  }

  async reweigh(entry: Entry, turn: number): Promise<Place | null> {
    const since = instant(system)
    const args = [entry.id, hex(entry.weight, 5), hex(turn, 8), this.#retentionMs]
    const keys = this.#keys.line(entry.line)
    return readPlace(await this.#renew(this.#scripts.reweigh, keys, args, entry.line), entry, since)
  }

  take(key: string, demand: Demand): Promise<Taken> {
    return this.#takes.run(this.#scripts.take, this.#wished(demand), {
      keys: [this.#keys.bucket(key)],
      own: null,
      read: (reply) => readTaken(reply, demand),
      fault: (error) => this.#fault(error),
    })
  }

  close(): Promise<void> {
    if (this.#closing === null) {
      this.#wakeups.close()
      this.#closing = this.#transport.close()
    }
    return this.#closing
  }

  /**
   * A grant counts only when enough replicas have it; else it is given back. A place that only waits is not a grant.
   */
  async #enterAndWait(
    entry: Entry,
    args: readonly Argument[],
    since: Instant,
    wait: ReplicaWait,
  ): Promise<Place | null> {
    let place: Place | null
    let replicas: number
    try {
      const confirmed = await this.#inTurn().runAndWait(this.#scripts.enter, this.#keys.line(entry.line), args, wait)
      replicas = confirmed.replicas
      place = readPlace(confirmed.reply, entry, since)
    } catch (error) {
      throw this.#fault(error, entry.line)
    }
    if (place === null || replicas >= wait.replicas || !isGranted(entry, place)) return place
    await this.leave(entry)
    throw new StoreError(
      `lock ${JSON.stringify(entry.line)}: only ${replicas} of ${wait.replicas} replicas confirmed the grant ` +
        `within ${wait.timeoutMs} ms, so it was given back`,
      { line: entry.line },
    )
  }

  /** A renewal that too few replicas have moves no deadline: the caller must take it for unanswered. */
  async #renew(of: Script, keys: readonly string[], args: readonly Argument[], line?: string): Promise<unknown> {
    const wait = this.#wait
    if (wait === null) return this.#run(of, keys, args, line)
    try {
      const { reply, replicas } = await this.#inTurn().runAndWait(of, keys, args, wait)
      if (replicas >= wait.replicas) return reply
      throw new StoreUnreachableError(`only ${replicas} of ${wait.replicas} replicas confirmed a renewal in time`)
    } catch (error) {
      throw this.#fault(error, line)
    }
  }

  /** A wish as it is sent; most are like the one before. */
  #wished(demand: Demand): readonly Argument[] {
    const last = this.#lastDemand
    if (demand === last) return this.#lastWish
    const { cost, burst, unit, drain, shutAfter, shutMs } = demand
    this.#lastDemand = demand
    if (
      last === null ||
      cost !== last.cost ||
      burst !== last.burst ||
      unit !== last.unit ||
      drain !== last.drain ||
      shutAfter !== last.shutAfter ||
      shutMs !== last.shutMs
    ) {
      const wish = [cost * unit, burst * unit, drain, ...(shutAfter > 0 ? [cost, shutAfter, shutMs] : [])]
      this.#lastWish = wish.map(String)
    }
    return this.#lastWish
  }

  /** A place as its owner sends it and the server stores it; see lua/line.lua. Most are like the one before. */
  #sent(entry: Entry): string {
    const { capacity, ttlMs, weight, id, data } = entry
    const last = this.#last
    if (last.capacity !== capacity || last.ttlMs !== ttlMs || last.weight !== weight) {
      const text = `${hex(capacity, 5)}${hex(ttlMs, 7)}${hex(weight, 5)}0`
      this.#last = { capacity, ttlMs, weight, text }
    }
    return this.#last.text + id + this.#wakeups.id + data
  }

  async #look(names: readonly string[]): Promise<LineView[]> {
    const keys = names.flatMap((name) => this.#keys.line(name))
    const replies = listOf(await this.#run(this.#scripts.view, keys, [VIEW_PLACES]))
    return names.map((name, i) => readView(name, replies[i])).filter((view) => view !== null)
  }

  async #run(of: Script, keys: readonly string[], args: readonly Argument[], line?: string): Promise<unknown> {
    try {
      return await this.#inTurn().run(of, keys, args)
    } catch (error) {
      throw this.#fault(error, line)
    }
  }

  /** For what must not overtake the enters and leaves that this turn has collected. */
  #inTurn(): Transport {
    this.#lines.flush()
    return this.#transport
  }

  #reject(error: unknown, line?: string): never {
    throw this.#fault(error, line)
  }

  /** What the driver rejects with instead. */
  #fault(error: unknown, line?: string): HoldfastError {
    const reply = replyOf(error)
    // What was the primary is none any more: behind the same name another server may answer by now.
    if (reply !== null && kindOf(reply) === 'READONLY') this.#transport.reconnect()
    return translate(error, this.#transport.where, line)
  }
}

/** 72 random bits in 12 characters that may stand in the name of a channel. */
function inboxId(): string {
  return Buffer.from(system.randomId().slice(0, 18), 'hex').toString('base64url')
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, '0')
}
