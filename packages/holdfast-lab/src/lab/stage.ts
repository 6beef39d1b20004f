/**
 * Where exhibits run: real servers, started when first needed and shared by all later exhibits, and what each exhibit
 * opens on them.
 */
import { type Holdfast, holdfast, type HoldfastOptions } from 'holdfast'
import type { Server } from '../testbed/server.ts'
import { type Testbed, testbed } from '../testbed/testbed.ts'
import { Clocks } from '../torture/backend/clock.ts'
import { Actor } from './actor/actor.ts'
import { Hand } from './hand.ts'
import type { Play } from './play.ts'

export class Stage {
  readonly clocks: Clocks = new Clocks()
  readonly #shared = new Map<string, Promise<unknown>>()
  #opened: (() => unknown)[] = []
  readonly #ends: (() => unknown)[] = []
  #names = 0
  #closing: Promise<void> | null = null

  bed(): Promise<Testbed> {
    return this.shared('testbed', testbed)
  }

  /** The one Redis server of exhibits that break nothing but their clients. */
  redis(): Promise<Server> {
    return this.shared('redis', async () => (await this.bed()).redis())
  }

  /** Made once, for all exhibits. */
  shared<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = (this.#shared.get(name) as Promise<T> | undefined) ?? make()
    this.#shared.set(name, made)
    return made
  }

  /** Runs `close` when the exhibit ends, however it ends; the last first. */
  defer(close: () => unknown): void {
    this.#opened.push(close)
  }

  /** Runs `close` when all servers have ended. */
  atEnd(close: () => unknown): void {
    this.#ends.push(close)
  }

  /** A name that no other exhibit uses on the same server. */
  fresh(name: string): string {
    return `${name}-${++this.#names}`
  }

  actor(name: string): Actor {
    const actor = new Actor(name)
    this.defer(() => actor.kill())
    return actor
  }

  hand(name: string, play: Play, url: string, timeoutMs?: number): Hand {
    const hand = new Hand(name, play, url, timeoutMs)
    this.defer(() => hand.close())
    return hand
  }

  /** An instance of Holdfast, as another process would have it. */
  async holdfast(store: Parameters<typeof holdfast>[0], options: HoldfastOptions = {}): Promise<Holdfast> {
    const hf = await holdfast(store, options)
    this.defer(() => hf.close())
    return hf
  }

  /** Closes what the exhibit has opened; the servers stay. */
  async clear(): Promise<void> {
    for (const close of this.#opened.splice(0).toReversed()) await close()
  }

  /** Ends everything. Idempotent: a second caller waits as well. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.clear()
    const bed = this.#shared.get('testbed') as Promise<Testbed> | undefined
    this.#shared.clear()
    await (await bed)?.close()
    for (const close of this.#ends.splice(0)) await close()
    await this.clocks.close()
  }
}
