/** A client that follows a recipe by hand: plain Redis commands, each of them noted in the act. */
import { Connection, parseRedisUrl, type Reply, type Script } from 'holdfast/internal'
import type { Play } from './play.ts'

/** After this a server counts as silent; the recipes of Redlock say 5 to 50 ms for leases of 10 s. */
const SILENT_MS = 5_000

export class Hand {
  readonly name: string
  readonly #play: Play
  readonly #connection: Connection

  constructor(name: string, play: Play, url: string, timeoutMs: number = SILENT_MS) {
    this.name = name
    this.#play = play
    this.#connection = new Connection({ ...parseRedisUrl(url), commandTimeoutMs: timeoutMs, backoffMaxMs: 100 })
  }

  /** One command; the act shows it with its reply. */
  async say(...command: (string | number)[]): Promise<Reply> {
    const reply = await this.ask(...command)
    this.#play.step(this.name, `${command.join(' ')} → ${shownReply(reply)}`)
    return reply
  }

  /** One command that the act does not show. */
  ask(...command: (string | number)[]): Promise<Reply> {
    return this.#connection.command(command.map(String))
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return this.#connection.run(script, keys, args)
  }

  subscribe(channel: string, onMessage: () => void): Promise<void> {
    return this.#connection.subscribe(channel, onMessage)
  }

  /** SET NX PX; returns whether the lock was free. */
  async take(key: string, ttlMs: number): Promise<boolean> {
    return (await this.ask('SET', key, this.name, 'NX', 'PX', ttlMs)) === 'OK'
  }

  /** SET NX PX again and again, until the lock is free. So the lapse of another's lease is awaited and not guessed. */
  async takeWhenFree(key: string, ttlMs: number): Promise<void> {
    const waited = this.#play.begin(this.name, 'wait')
    while (!(await this.take(key, ttlMs))) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    waited()
    this.#play.step(this.name, `SET ${key} ${this.name} NX PX ${ttlMs} → OK, after waiting`)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

const POLL_MS = 10

function shownReply(reply: Reply): string {
  return typeof reply === 'string' || typeof reply === 'number' ? String(reply) : reply === null ? 'nil' : 'a list'
}
