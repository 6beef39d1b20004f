/** A look at the server before it is relied on: too old, a replica, forbidden to us, or free to throw locks away. */
import { StoreError } from '../../contract/errors.ts'
import { kindOf, replyOf } from './errors.ts'
import type { Confirmed, Transport, ReplicaWait } from './transport.ts'
import { script, type Script } from '../../clients/redis/script.ts'
import type { Argument } from '../../clients/redis/encode.ts'

const PROBE = script('return 1')
const OLDEST = [6, 2] as const

/** Rejects with a StoreError when the server can't carry locks; warns when it may lose them. */
export async function checkServers(transport: Transport): Promise<void> {
  for (const info of await readInfos(transport)) {
    checkVersion(transport.where, info)
    checkRole(transport.where, info)
    checkEviction(transport.where, info)
  }
  await transport.run(PROBE, [], [])
}

/** What INFO says on every primary; nothing when this user may not ask. */
async function readInfos(transport: Transport): Promise<Map<string, string>[]> {
  try {
    const texts = (await transport.askAll(['INFO'])).map(String)
    return texts.map((text) => new Map(text.split('\r\n').flatMap((line) => (/^\w+:/.test(line) ? [split(line)] : []))))
  } catch (error) {
    const reply = replyOf(error)
    if (reply !== null && kindOf(reply) === 'NOPERM') return []
    throw error
  }
}

function split(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1)]
}

function checkVersion(where: string, info: ReadonlyMap<string, string>): void {
  const version = info.get('redis_version') ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (version === '' || major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return
  throw new StoreError(`Redis at ${where} has version ${version}; Holdfast needs ${OLDEST.join('.')} or newer`)
}

function checkRole(where: string, info: ReadonlyMap<string, string>): void {
  if (info.get('role') !== 'slave') return
  const primary = `${info.get('master_host')}:${info.get('master_port')}`
  throw new StoreError(
    `Redis at ${where} is a replica of ${primary}, and a replica takes no locks: give the primary, or ` +
      `redis+sentinel:// which finds it`,
  )
}

function checkEviction(where: string, info: ReadonlyMap<string, string>): void {
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  if (policy === 'noeviction' || (info.get('maxmemory') ?? '0') === '0') return
  process.emitWarning(
    `Redis at ${where} evicts keys when its memory is full (maxmemory-policy ${policy}): a lock may vanish ` +
      `while it is held. Use noeviction.`,
    { type: 'HoldfastWarning', code: 'HF_EVICTION' },
  )
}

/**
 * A transport whose servers are checked before anything is asked of them, whoever made it: by URL, or over a user's
 * client.
 */
export class CheckedTransport implements Transport {
  readonly #inner: Transport
  #looking: Promise<void> | null = null
  #isDone = false
  /** Waits for the look, in the order of the calls. After the look every call goes to the servers without this step. */
  run: Transport['run'] = (script, keys, args) => this.#look().then(() => this.#inner.run(script, keys, args))

  constructor(inner: Transport) {
    this.#inner = inner
  }

  get where(): string {
    return this.#inner.where
  }

  get keyPrefix(): string {
    return this.#inner.keyPrefix
  }

  get joins(): boolean {
    return this.#inner.joins
  }

  get onGap(): () => void {
    return this.#inner.onGap
  }

  set onGap(onGap: () => void) {
    this.#inner.onGap = onGap
  }

  async open(): Promise<void> {
    await this.#inner.open()
    await this.#look()
  }

  async runAndWait(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    wait: ReplicaWait,
  ): Promise<Confirmed> {
    if (!this.#isDone) await this.#look()
    return this.#inner.runAndWait(script, keys, args, wait)
  }

  askAll(args: readonly Argument[]): Promise<readonly unknown[]> {
    return this.#inner.askAll(args)
  }

  scan(pattern: string): AsyncIterable<readonly string[]> {
    return this.#inner.scan(pattern)
  }

  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    return this.#inner.subscribe(channel, onMessage)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#inner.unsubscribe(channel)
  }

  reconnect(): void {
    this.#inner.reconnect()
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  /**
   * Once; after a refusal the next caller looks again. A caller that finds a look under way takes a yes from it, but no
   * refusal: what was seen before the call may be over, as when a replica has just become a primary.
   */
  #look(): Promise<void> {
    if (this.#looking !== null) return this.#looking.catch(() => this.#lookAnew())
    return this.#lookAnew()
  }

  #lookAnew(): Promise<void> {
    this.#looking ??= this.#check()
    return this.#looking
  }

  async #check(): Promise<void> {
    try {
      await checkServers(this.#inner)
      this.#isDone = true
      this.run = this.#inner.run.bind(this.#inner)
    } finally {
      this.#looking = null
    }
  }
}
