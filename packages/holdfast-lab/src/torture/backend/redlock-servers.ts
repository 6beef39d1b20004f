/**
 * The servers of a Redlock deployment and some to spare, and what an operator does with them: replaces one, makes three
 * of them five, and three again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from 'holdfast'
import { initRedlock, resizeRedlock } from 'holdfast/redlock'
import { redisAsk } from '../../testbed/redis.ts'
import type { Server } from '../../testbed/server.ts'
import type { Random } from '../random.ts'
import type { Deed } from './backend.ts'

/** A server that was hit just before may still be silent. The operator tries again for so long. */
const PATIENCE_MS = 30_000
const AGAIN_MS = 300

export class RedlockServers {
  /** The servers that vote; the first of them always does. The array is changed in place. */
  readonly present: Server[]
  readonly #pool: readonly Server[]
  readonly #count: number

  /** @param count how many of the pool are the servers at first, and between two deeds. */
  constructor(pool: readonly Server[], count: number) {
    this.#pool = pool
    this.#count = count
    this.present = pool.slice(0, count)
  }

  async init(maxTtlMs: number): Promise<void> {
    await initRedlock(urlOf(this.present), { maxTtlMs })
  }

  /** An empty server replaces another, which is alive or dead. */
  replace(): Deed {
    return {
      forgets: false,
      aim: (random) => {
        const old = random.pick(this.present.slice(1))
        const fresh = random.pick(this.#spares())
        if (old === undefined || fresh === undefined) throw new RangeError('there are no servers to spare')
        const isDead = random.chance(0.5)
        return Promise.resolve({
          target: `${old.name} by ${fresh.name}`,
          lastsMs: 0,
          strike: async () => {
            if (isDead) {
              // Another may have lost its data a moment ago: with this one dead, most would know of no deployment, and
              // nobody could agree on a change until this one is back.
              await this.#become(this.present)
              await old.kill()
            }
            await this.#become(this.present.map((server) => (server === old ? fresh : server)))
          },
          // A server that was not replaced still votes, and comes back with its data.
          heal: () => {
            if (isDead) return old.restart({ keepData: this.present.includes(old) })
            return this.present.includes(old) ? undefined : this.#empty([old])
          },
        })
      },
    }
  }

  /** All of them become servers. After a while as many as before are left, perhaps other ones. */
  resize(): Deed {
    return {
      forgets: false,
      aim: (random) => {
        const left = this.#some(random)
        return Promise.resolve({
          target: `${this.#count} to ${this.#pool.length} servers`,
          lastsMs: 500 + random.next() * 500,
          strike: () => this.#become(this.#pool),
          heal: async () => {
            await this.#become(left)
            await this.#empty(this.#spares())
          },
        })
      },
    }
  }

  #some(random: Random): Server[] {
    const [first, ...others] = this.#pool
    return first === undefined ? [] : [first, ...random.shuffle(others).slice(0, this.#count - 1)]
  }

  #spares(): Server[] {
    return this.#pool.filter((server) => !this.present.includes(server))
  }

  async #become(servers: readonly Server[]): Promise<void> {
    const until = performance.now() + PATIENCE_MS
    for (;;) {
      try {
        await resizeRedlock(urlOf(servers), { from: urlOf(this.#pool), connectTimeoutMs: 2_000 })
        break
      } catch (error) {
        if (!(error instanceof HoldfastError) || performance.now() > until) throw error
        await sleep(AGAIN_MS)
      }
    }
    this.present.splice(0, this.present.length, ...servers)
  }

  /** A server must be empty to be added. */
  async #empty(servers: readonly Server[]): Promise<void> {
    for (const server of servers) await redisAsk(server.port, '', ['FLUSHALL'])
  }
}

function urlOf(servers: readonly Server[]): string {
  return `redlock://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
}
