/** Five independent Redis servers, the classic Redlock on them by hand, and ways in that can be cut one by one. */
import { initRedlock } from 'holdfast/redlock'
import { TestbedError } from '../testbed/error.ts'
import type { FaultProxy } from '../testbed/proxy.ts'
import type { Server } from '../testbed/server.ts'
import type { Clock } from '../torture/backend/clock.ts'
import { Gates } from '../torture/backend/gates.ts'
import { FREE } from '../torture/mutants/bench.ts'
import type { Hand } from './hand.ts'
import type { Play } from './play.ts'
import type { Stage } from './stage.ts'

const COUNT = 5
const MAJORITY = 3
/**
 * How long the classic client waits for one server: "5 to 50 ms" for a lease of 10 s; more here, for a loaded machine.
 */
const CLASSIC_MS = 300

export interface Council {
  readonly servers: readonly Server[]
  /** The clock of the third server. */
  readonly clock: Clock
}

/** The clock of the third server can be moved if there is a C compiler. */
export function council(stage: Stage): Promise<Council> {
  return stage.shared('redlock', async () => {
    const bed = await stage.bed()
    const clock = await stage.clocks.make('third')
    const env = clock.env === null ? {} : { env: clock.env }
    const servers = await Promise.all(Array.from({ length: COUNT }, (_, i) => bed.redis(i === 2 ? env : {})))
    return { servers, clock }
  })
}

export function requireClock({ env, lacks }: Clock): void {
  if (env === null) throw new TestbedError(`the clock of a server can't be moved: ${lacks['clock-forward']}`)
}

/** A way in for one client: a proxy in front of each server. */
export interface Way {
  readonly addresses: string
  readonly proxies: readonly FaultProxy[]
}

export async function wayIn(stage: Stage, servers: readonly Server[]): Promise<Way> {
  const gates = new Gates(servers, (addresses) => addresses)
  stage.defer(() => gates.close())
  const { url, proxies } = await gates.open()
  return { addresses: url, proxies }
}

/** Cuts the servers of these numbers (from 1) off: nothing reaches them this way any more. */
export async function cutOff(way: Way, numbers: readonly number[]): Promise<void> {
  for (const number of numbers) await way.proxies[number - 1]?.set({ toServer: 'drop', toClient: 'drop' })
}

/** Starts a deployment of its own: the name under which its markers and lines are kept. */
export async function deployment(stage: Stage, servers: readonly Server[], maxTtlMs: number): Promise<string> {
  const prefix = stage.fresh('redlock')
  await initRedlock(`redlock://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, { prefix, maxTtlMs })
  return prefix
}

export function redlockUrl(addresses: string, prefix: string): string {
  return `redlock://${addresses}?prefix=${prefix}&nodeTimeoutMs=500`
}

/** The classic algorithm, as published: SET NX PX everywhere, and the lock is mine if a majority said OK in time. */
export class Classic {
  readonly name: string
  readonly #play: Play
  readonly #hands: readonly Hand[]

  constructor(stage: Stage, play: Play, name: string, addresses: string) {
    this.name = name
    this.#play = play
    this.#hands = addresses.split(',').map((address) => stage.hand(name, play, `redis://${address}`, CLASSIC_MS))
  }

  /** One round; false: less than a majority, and all votes are given back. */
  async take(key: string, ttlMs: number): Promise<boolean> {
    const since = performance.now()
    const votes = await Promise.allSettled(this.#hands.map((hand) => hand.take(key, ttlMs)))
    const shown = votes.map((vote) => (vote.status === 'rejected' ? '?' : vote.value ? 'yes' : 'no')).join(' ')
    const won = votes.filter((vote) => vote.status === 'fulfilled' && vote.value).length
    const isMine = won >= MAJORITY && performance.now() - since < ttlMs
    this.#play.step(
      this.name,
      `SET ${key} NX PX ${ttlMs} on all five → ${shown}: ${won} of ${COUNT}${isMine ? ', holds' : ''}`,
    )
    if (!isMine) await this.free(key)
    return isMine
  }

  /** On all servers; those that do not answer forget by themselves. */
  async free(key: string): Promise<void> {
    await Promise.allSettled(this.#hands.map((hand) => hand.run(FREE, [key], [this.name])))
  }
}
