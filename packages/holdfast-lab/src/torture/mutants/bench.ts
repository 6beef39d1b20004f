/** The correct parts of a Redis lock. Each planted fault uses them, and gets one thing wrong. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, parseRedisUrl, type Reply, type Script, script } from 'holdfast/internal'
import type { Claim, LockClientOptions } from '../client/lock-client.ts'
import type { LineSpec } from '../history/event.ts'

/** Compare and delete. */
export const FREE: Script = script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`,
)
/** Compare and prolong. */
export const KEEP: Script = script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`,
)

/** Short: who can't reach the store must notice within a run of seconds. */
const COMMAND_MS = 800

export class Bench {
  readonly p: string
  readonly ttlMs: number
  readonly links: readonly Connection[]
  readonly #renewals = new Set<NodeJS.Timeout>()
  readonly #onWoken: (line: string) => void

  constructor({ url, ttlMs, p, onWoken }: LockClientOptions) {
    this.p = p
    this.#onWoken = onWoken
    this.ttlMs = ttlMs
    // Several servers are named in one URL, as Redlock has them.
    const addresses = url.replace(/^[a-z+]+:\/\/|\?.*$/g, '').split(',')
    const timing = { commandTimeoutMs: COMMAND_MS, connectTimeoutMs: COMMAND_MS, backoffMaxMs: 100 }
    this.links = addresses.map((address) => new Connection({ ...parseRedisUrl(`redis://${address}`), ...timing }))
  }

  get redis(): Connection {
    const [first] = this.links
    if (first === undefined) throw new RangeError('there is no server in the URL')
    return first
  }

  ask(...command: (string | number)[]): Promise<Reply> {
    return this.redis.command(command.map(String))
  }

  key(line: LineSpec, suffix = ''): string {
    return `mutant:{${line.name}}${suffix}`
  }

  id(): string {
    return randomUUID()
  }

  /** A waiter of the line was woken. */
  woken(line: LineSpec): void {
    this.#onWoken(line.name)
  }

  sleep(ms: number): Promise<void> {
    return sleep(ms)
  }

  /** SET NX PX: true if it was free. */
  async take(line: LineSpec, id: string, link: Connection = this.redis): Promise<boolean> {
    return (await link.command(['SET', this.key(line), id, 'NX', 'PX', String(this.ttlMs)])) === 'OK'
  }

  /**
   * A right start, from which most of them go wrong: the lock is taken under an id of its own, the lease counted from
   * before.
   */
  async taken(line: LineSpec, then: (id: string, since: number) => Claim | Promise<Claim>): Promise<Claim | null> {
    const id = this.id()
    const since = performance.now()
    return (await this.take(line, id)) ? then(id, since) : null
  }

  /** Compare and delete. */
  async free(
    line: LineSpec,
    id: string,
    link: Connection = this.redis,
    timeoutMs: number = COMMAND_MS,
  ): Promise<boolean> {
    return (await link.run(FREE, [this.key(line)], [id], { timeoutMs })) === 1
  }

  /** Compare and prolong. */
  async keep(line: LineSpec, id: string): Promise<boolean> {
    return (await this.redis.run(KEEP, [this.key(line)], [id, String(this.ttlMs)])) === 1
  }

  async fence(line: LineSpec): Promise<bigint> {
    return BigInt(Number(await this.ask('INCR', this.key(line, ':fence'))))
  }

  /** Calls again and again until stopped, whatever becomes of it. */
  every(ms: number, act: () => Promise<unknown>): () => void {
    const timer = setInterval(() => {
      // A watchdog that fails is not heard of: whether that is a mistake is for each mutant to say.
      act().catch((): void => undefined)
    }, ms)
    this.#renewals.add(timer)
    return () => {
      clearInterval(timer)
      this.#renewals.delete(timer)
    }
  }

  async close(): Promise<void> {
    for (const timer of this.#renewals) clearInterval(timer)
    await Promise.all(this.links.map((link) => link.close()))
  }
}

/** A claim that keeps no account of time: it holds until it lets go. */
export function trusting(token: bigint | null, release: () => Promise<boolean>): Claim {
  return { token, leftMs: Number.POSITIVE_INFINITY, isHeld: () => true, release }
}

/** A claim that ends by its own clock, `ttlMs` after `since`. */
export function timed(token: bigint | null, since: number, ttlMs: number, release: () => Promise<boolean>): Claim {
  const deadline = since + ttlMs * 0.98
  return {
    token,
    get leftMs() {
      return Math.max(0, deadline - performance.now())
    },
    isHeld: () => performance.now() < deadline,
    release: () => (performance.now() < deadline ? release() : Promise.resolve(false)),
  }
}
