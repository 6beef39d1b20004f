/** Bugs of other lock libraries, re-enacted: of tokens, owners, renewals and releases. */
import { type Bench, timed, trusting } from './bench.ts'
import type { Mutant, Try } from './mutant.ts'

/** A release does not wait long for an answer. */
const RELEASE_MS = 100

/** A client that finds the lock under this name believes that it holds the lock. */
function ownedBy(bench: Bench, owner: string): Try {
  return async ({ line }) => {
    const since = performance.now()
    if (!(await bench.take(line, owner)) && (await bench.ask('GET', bench.key(line))) !== owner) return null
    return timed(null, since, bench.ttlMs, () => bench.free(line, owner))
  }
}

export const bugs: readonly Mutant[] = [
  {
    name: 'retried-unlock',
    mistake: 'a release whose answer was lost is sent again, and frees the next holder',
    seen: 'etcd #22082',
    nemeses: ['pause-client'],
    breaks: ['exclusion', 'owner'],
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, (_, since) =>
          timed(null, since, bench.ttlMs, async () => {
            await bench.ask('DEL', bench.key(line))
            await bench.sleep(20)
            await bench.ask('DEL', bench.key(line))
            return true
          }),
        ),
  },
  {
    name: 'renewal-swallowed',
    mistake: 'the watchdog fails and nobody is told: the holder goes on',
    seen: 'Redisson #4698, ShedLock, Consul #18271',
    nemeses: ['partition'],
    breaks: ['exclusion'],
    longEvery: 4,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, (id) => {
          const stop = bench.every(bench.ttlMs / 3, () => bench.keep(line, id))
          return trusting(null, async () => {
            stop()
            return bench.free(line, id)
          })
        }),
  },
  {
    name: 'expired-grant',
    mistake: 'the lease is counted from the answer, and an answer that came after its end counts as well',
    seen: 'node-redlock, redlock-universal, redis-semaphore',
    nemeses: ['latency'],
    breaks: ['exclusion'],
    stayMs: 290,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, (id) => timed(null, performance.now(), bench.ttlMs, () => bench.free(line, id))),
  },
  {
    name: 'token-reset',
    mistake: 'the token is kept in the lock and goes with it: the next holder begins at 1',
    seen: 'madelson/DistributedLock on MongoDB',
    nemeses: ['pause-client'],
    breaks: ['tokens'],
    fenced: true,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, async (id, since) =>
          timed(await bench.fence(line), since, bench.ttlMs, async () => {
            await bench.ask('DEL', bench.key(line, ':fence'))
            return bench.free(line, id)
          }),
        ),
  },
  {
    name: 'fence-expires',
    mistake: 'the counter of the tokens has an expiry, and a line that nobody asks for starts over',
    seen: 'fence keys with a time to live, or evicted',
    nemeses: ['kill-holder', 'pause-holder'],
    breaks: ['tokens'],
    fenced: true,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, async (id, since) => {
          const token = await bench.fence(line)
          await bench.ask('PEXPIRE', bench.key(line, ':fence'), Math.ceil(bench.ttlMs / 2))
          return timed(token, since, bench.ttlMs, () => bench.free(line, id))
        }),
  },
  {
    name: 'failed-release-forgotten',
    mistake: 'a release that failed is forgotten, but its watchdog is not, and takes the lock again',
    seen: 'Curator #1193',
    nemeses: ['partition-reset'],
    breaks: ['lost-lock'],
    stayMs: 120,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, (id, since) => {
          const stop = bench.every(bench.ttlMs / 3, async () => {
            if (!(await bench.keep(line, id))) await bench.take(line, id)
          })
          return timed(null, since, bench.ttlMs * 3, async () => {
            const freed = await bench.free(line, id, bench.redis, RELEASE_MS)
            stop()
            return freed
          })
        }),
  },
  {
    name: 'two-handles',
    mistake: 'the owner is the process or its session, so that two callers in it hold at once',
    seen: 'etcd sessions, GET_LOCK',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    tasks: 3,
    make: (bench) => ownedBy(bench, bench.p),
  },
  {
    name: 'host-owner',
    mistake: 'the owner is the name of the host, so that all its processes are one',
    seen: 'ShedLock',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    make: (bench) => ownedBy(bench, 'host'),
  },
  {
    name: 'second-frees-first',
    mistake: 'a session has one lock: taking a second frees the first',
    seen: 'GET_LOCK before MySQL 5.7, madelson/DistributedLock #123',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    kinds: ['mutex', 'mutex'],
    tasks: 2,
    make: (bench) => {
      let last: (() => Promise<boolean>) | null = null
      return ({ line }) =>
        bench.taken(line, async (id, since) => {
          await last?.()
          last = () => bench.free(line, id)
          // Its release succeeds, whatever became of the lock.
          return timed(null, since, bench.ttlMs, async () => {
            await bench.free(line, id)
            return true
          })
        })
    },
  },
  {
    name: 'timed-out-but-taken',
    mistake: 'a wait that was given up had got the lock after all, and nobody knows of it',
    seen: 'madelson/DistributedLock #147, redsync',
    nemeses: ['pause-holder'],
    breaks: ['lost-lock', 'left-behind'],
    waitMs: 60,
    make:
      (bench) =>
      async ({ line, waitMs }) => {
        const id = bench.id()
        const since = performance.now()
        if (!(await bench.take(line, id))) return null
        // One in eight answers comes too late for the caller, who is told that the time is up.
        if (waitMs > 0 && id.startsWith('0', 3)) {
          await bench.ask('PERSIST', bench.key(line))
          return null
        }
        return timed(null, since, bench.ttlMs, () => bench.free(line, id))
      },
  },
  {
    name: 'zero-attempts',
    mistake: 'no attempts at all count as success',
    seen: 'verrou',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    make:
      (bench) =>
      async ({ line, waitMs }) => {
        const id = bench.id()
        const since = performance.now()
        if (waitMs > 0 && !(await bench.take(line, id))) return null
        return timed(null, since, bench.ttlMs, () => bench.free(line, id))
      },
  },
]
