/** Bugs of queues and counts, re-enacted: wrong waiters, wake-ups and grants. */
import { script } from 'holdfast/internal'
import { timed } from './bench.ts'
import type { Mutant } from './mutant.ts'

/** Takes the lock if nobody has it and nobody waits; otherwise joins the end of the queue. */
const JOIN = script(`
if redis.call('EXISTS', KEYS[1]) == 0 and redis.call('LLEN', KEYS[2]) == 0 then
  return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return redis.call('RPUSH', KEYS[2], ARGV[1])`)

/** Gives the lock to the first of the queue. */
const HAND_ON = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call('LPOP', KEYS[2])
if next then redis.call('SET', KEYS[1], next, 'PX', ARGV[2]) else redis.call('DEL', KEYS[1]) end
return 1`)

/** Waits among the others until all are called, or for a lease. */
function called(crowd: Set<() => void>, ms: number, onCalled: () => void): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      onCalled()
      done()
    }
    const done = (): void => {
      clearTimeout(timer)
      crowd.delete(wake)
      resolve()
    }
    const timer = setTimeout(done, ms)
    crowd.add(wake)
  })
}

const PERMITS_KIND = ['semaphore'] as const

export const queues: readonly Mutant[] = [
  {
    name: 'dead-head',
    mistake: 'only the head of the queue may take the lock, and a head that died stays the head',
    seen: 'Redisson #1104, #3730',
    nemeses: ['kill-client'],
    breaks: ['lost-lock'],
    make: (bench) => {
      const places = new Map<object, string>()
      return async (wish) => {
        const { line } = wish
        const queue = bench.key(line, ':queue')
        let id = places.get(wish)
        if (id === undefined) {
          id = bench.id()
          places.set(wish, id)
          await bench.ask('RPUSH', queue, id)
          // In order as long as it lives: whoever gives up takes its place out.
          const mine = id
          wish.signal.addEventListener(
            'abort',
            () => void bench.ask('LREM', queue, 0, mine).catch((): void => undefined),
          )
        }
        if ((await bench.ask('LINDEX', queue, 0)) !== id) return null
        const since = performance.now()
        if (!(await bench.take(line, id))) return null
        await bench.ask('LREM', queue, 0, id)
        const mine = id
        return timed(null, since, bench.ttlMs, () => bench.free(line, mine))
      }
    },
  },
  {
    name: 'place-left-after-timeout',
    mistake: 'whoever gives up waiting leaves a place in the queue behind',
    seen: 'Redisson #5019',
    nemeses: ['pause-client'],
    breaks: ['lost-lock', 'left-behind'],
    waitMs: 150,
    make: (bench) => {
      const places = new Map<object, string>()
      return async (wish) => {
        const { line } = wish
        const queue = bench.key(line, ':queue')
        let id = places.get(wish)
        if (id === undefined) {
          id = bench.id()
          places.set(wish, id)
          await bench.ask('RPUSH', queue, id)
        }
        if ((await bench.ask('LINDEX', queue, 0)) !== id) return null
        const since = performance.now()
        if (!(await bench.take(line, id))) return null
        await bench.ask('LPOP', queue)
        const mine = id
        return timed(null, since, bench.ttlMs, () => bench.free(line, mine))
      }
    },
  },
  {
    name: 'handed-to-the-dead',
    mistake: 'a release hands the lock to the first waiter; if that one is dead, nobody else ever looks',
    seen: 'Redisson #3004, #1763, #3891',
    nemeses: ['kill-client'],
    breaks: ['waiters', 'lost-lock'],
    make: (bench) => {
      const places = new Map<object, string>()
      return async (wish) => {
        const { line } = wish
        const keys = [bench.key(line), bench.key(line, ':queue')]
        const since = performance.now()
        let id = places.get(wish)
        if (id === undefined) {
          id = bench.id()
          places.set(wish, id)
          await bench.redis.run(JOIN, keys, [id, String(bench.ttlMs)])
        }
        // From here on it waits to be called by name.
        if ((await bench.ask('GET', bench.key(line))) !== id) return null
        const mine = id
        return timed(null, since, bench.ttlMs, async () => {
          return (await bench.redis.run(HAND_ON, keys, [mine, String(bench.ttlMs)])) === 1
        })
      }
    },
  },
  {
    name: 'died-while-waiting',
    mistake: 'a waiter whose own place has lapsed takes the lock when the one before it has gone',
    seen: 'etcd #19597, #16221, Curator #1121',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    stayMs: 120,
    // Several that wait in each process: whichever is stopped, one of them was waiting.
    tasks: 3,
    make: (bench) => {
      const places = new Map<
        object,
        { readonly id: string; readonly before: string | null; readonly stop: () => void }
      >()
      return async (wish) => {
        const { line } = wish
        const queue = bench.key(line, ':places')
        const alive = (id: string): string => `${queue}:${id}`
        // Each look removes the places whose leases have run out.
        const standing = async (): Promise<string[]> => {
          const ids = ((await bench.ask('LRANGE', queue, 0, -1)) as string[]) ?? []
          const living: string[] = []
          for (const id of ids) {
            if ((await bench.ask('EXISTS', alive(id))) === 1) living.push(id)
            else await bench.ask('LREM', queue, 0, id)
          }
          return living
        }
        let place = places.get(wish)
        if (place === undefined) {
          const id = bench.id()
          const before = (await standing()).at(-1) ?? null
          await bench.ask('SET', alive(id), 1, 'PX', bench.ttlMs)
          await bench.ask('RPUSH', queue, id)
          const stop = bench.every(bench.ttlMs / 3, () => bench.ask('PEXPIRE', alive(id), bench.ttlMs))
          place = { id, before, stop }
          places.set(wish, place)
        }
        const { id, before, stop } = place
        const since = performance.now()
        if (before !== null && (await standing()).includes(before)) return null
        return timed(null, since, bench.ttlMs, async () => {
          stop()
          await bench.ask('DEL', alive(id))
          await bench.ask('LREM', queue, 0, id)
          return true
        })
      }
    },
  },
  {
    name: 'count-then-add',
    mistake: 'permits are counted in one step and taken in the next',
    seen: 'semaphores of two commands',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    kinds: PERMITS_KIND,
    make:
      (bench) =>
      async ({ line, weight }) => {
        const key = bench.key(line, ':permits')
        const since = performance.now()
        if (Number(await bench.ask('GET', key)) + weight > line.capacity) return null
        await bench.ask('INCRBY', key, weight)
        return timed(null, since, bench.ttlMs, async () => {
          await bench.ask('DECRBY', key, weight)
          return true
        })
      },
  },
  {
    name: 'clock-of-the-client',
    mistake: 'leases are judged by the clock of whoever looks, and one that is fast evicts the living',
    seen: 'redis-semaphore',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    kinds: PERMITS_KIND,
    make:
      (bench) =>
      async ({ line, weight }) => {
        const key = bench.key(line, ':scores')
        const skewMs = bench.p.startsWith('c1') ? 10_000 : 0
        const now = performance.timeOrigin + performance.now() + skewMs
        const since = performance.now()
        await bench.ask('ZREMRANGEBYSCORE', key, '-inf', now - bench.ttlMs)
        const ids = Array.from({ length: weight }, () => bench.id())
        await bench.ask('ZADD', key, ...ids.flatMap((id) => [now, id]))
        const over = Number(await bench.ask('ZCARD', key)) > line.capacity
        const release = async (): Promise<boolean> => (await bench.ask('ZREM', key, ...ids)) === weight
        if (!over) return timed(null, since, bench.ttlMs, release)
        await release()
        return null
      },
  },
  {
    name: 'herd',
    mistake: 'a release wakes everybody who waits, and all but one of them for nothing',
    seen: 'a watch on one fixed key of etcd or ZooKeeper, one channel of Redis for all',
    nemeses: ['pause-client'],
    breaks: ['wake-ups'],
    fair: true,
    clients: 4,
    tasks: 2,
    make: (bench) => {
      const crowd = new Set<() => void>()
      let listening: Promise<void> | null = null
      return async ({ line, waitMs }) => {
        const channel = bench.key(line, ':freed')
        listening ??= bench.redis.subscribe(channel, () => {
          for (const wake of crowd) wake()
        })
        await listening
        const claim = await bench.taken(line, (id, since) =>
          timed(null, since, bench.ttlMs, async () => {
            const freed = await bench.free(line, id)
            await bench.ask('PUBLISH', channel, '')
            return freed
          }),
        )
        if (claim === null && waitMs > 0) await called(crowd, bench.ttlMs, () => bench.woken(line))
        return claim
      }
    },
  },
  {
    name: 'unfair-polling',
    mistake: 'it says that it is fair, but whoever asks most often is served most often',
    seen: 'polling with a fixed delay',
    nemeses: ['pause-client'],
    breaks: ['fairness'],
    fair: true,
    stayMs: 0,
    quietMs: 4_000,
    make:
      (bench) =>
      async ({ line }) => {
        if (bench.p !== 'c1' && bench.p !== 'probe') await bench.sleep(400)
        return bench.taken(line, (id, since) => timed(null, since, bench.ttlMs, () => bench.free(line, id)))
      },
  },
]
