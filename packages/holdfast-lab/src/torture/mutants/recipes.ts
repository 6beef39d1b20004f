/** Broken recipes of many blogs: each of them works until something goes wrong. */
import { timed, trusting } from './bench.ts'
import type { Mutant } from './mutant.ts'

export const recipes: readonly Mutant[] = [
  {
    name: 'setnx-then-expire',
    mistake: 'the expiry is set in a second step, and a crash between the two leaves a lock for ever',
    seen: 'SETNX, then EXPIRE',
    nemeses: ['kill-holder'],
    breaks: ['lost-lock'],
    stayMs: 60,
    make:
      (bench) =>
      async ({ line }) => {
        const id = bench.id()
        const since = performance.now()
        if ((await bench.ask('SET', bench.key(line), id, 'NX')) !== 'OK') return null
        const expiring = bench.sleep(40).then(() => bench.keep(line, id))
        return timed(null, since, bench.ttlMs, async () => {
          await expiring
          return bench.free(line, id)
        })
      },
  },
  {
    name: 'losers-refresh',
    mistake: 'whoever fails to get the lock prolongs it, so that a dead holder keeps it as long as anybody wants it',
    seen: 'Distributed-Kit',
    nemeses: ['kill-holder'],
    breaks: ['lost-lock'],
    make:
      (bench) =>
      async ({ line }) => {
        const id = bench.id()
        const since = performance.now()
        if (await bench.take(line, id)) return timed(null, since, bench.ttlMs, () => bench.free(line, id))
        await bench.ask('PEXPIRE', bench.key(line), bench.ttlMs)
        return null
      },
  },
  {
    name: 'get-then-del',
    mistake: 'the owner is compared in one step and the key deleted in the next, when it may be another’s',
    seen: 'GET, compare, DEL',
    nemeses: ['pause-holder'],
    breaks: ['exclusion', 'owner'],
    // Enough of them that one takes what was freed while its holder is still there.
    tasks: 3,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, (id, since) =>
          timed(null, since, bench.ttlMs, async () => {
            if ((await bench.ask('GET', bench.key(line))) !== id) return false
            // A pause between the two as long as the lease: by chance alone it took five runs to be hit just here.
            await bench.sleep(bench.ttlMs)
            await bench.ask('DEL', bench.key(line))
            return true
          }),
        ),
  },
  {
    name: 'plain-del',
    mistake: 'the key is deleted whoever has it: a holder that outlives its lease frees the lock of the next one',
    seen: 'SET NX PX, DEL',
    nemeses: ['pause-holder'],
    breaks: ['exclusion', 'owner'],
    make:
      (bench) =>
      async ({ line }) => {
        if (!(await bench.take(line, bench.id()))) return null
        return trusting(null, async () => {
          await bench.ask('DEL', bench.key(line))
          return true
        })
      },
  },
  {
    name: 'getset',
    mistake:
      'the expiry is a time of the client in the value, and whoever finds it past overwrites it, also when ' +
      'another was first',
    seen: 'SETNX and GETSET with time-outs',
    nemeses: ['pause-holder'],
    breaks: ['exclusion', 'owner'],
    make:
      (bench) =>
      async ({ line }) => {
        const key = bench.key(line)
        const until = String(performance.timeOrigin + performance.now() + bench.ttlMs)
        const release = async (): Promise<boolean> => (await bench.ask('DEL', key)) === 1
        if ((await bench.ask('SET', key, until, 'NX')) === 'OK') return trusting(null, release)
        const seen = await bench.ask('GET', key)
        if (Number(seen) > performance.timeOrigin + performance.now()) return null
        return (await bench.ask('SET', key, until, 'GET')) === seen ? trusting(null, release) : null
      },
  },
  {
    name: 'no-expiry',
    mistake: 'there is no expiry at all',
    seen: 'a lock table with a unique index',
    nemeses: ['kill-holder'],
    breaks: ['lost-lock', 'left-behind'],
    make:
      (bench) =>
      async ({ line }) => {
        const id = bench.id()
        if ((await bench.ask('SET', bench.key(line), id, 'NX')) !== 'OK') return null
        return trusting(null, () => bench.free(line, id))
      },
  },
  {
    name: 'no-watchdog',
    mistake: 'the work takes longer than the lease, and nobody looks at the clock',
    seen: 'SET NX PX with a compare-and-delete, and a long job',
    nemeses: ['pause-client'],
    breaks: ['exclusion'],
    longEvery: 3,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, (id) => trusting(null, () => bench.free(line, id))),
  },
  {
    name: 'fence-lost-with-the-data',
    mistake: 'the fencing token is a counter beside the lock, and begins anew when the data are lost',
    seen: 'INCR as a fence',
    nemeses: ['flush'],
    breaks: ['tokens'],
    fenced: true,
    make:
      (bench) =>
      ({ line }) =>
        bench.taken(line, async (id, since) =>
          timed(await bench.fence(line), since, bench.ttlMs, () => bench.free(line, id)),
        ),
  },
  {
    name: 'redlock-amnesia',
    mistake: 'a node that comes back without its data votes again at once',
    seen: 'Redlock without delayed restarts',
    nemeses: ['restart-empty'],
    breaks: ['exclusion'],
    store: 'redlock',
    // Two of three servers must forget within one hold, however long a restart takes on a loaded machine.
    ttlMs: 2_500,
    stayMs: 2_400,
    make:
      (bench) =>
      async ({ line }) => {
        const id = bench.id()
        const since = performance.now()
        const votes = await Promise.allSettled(bench.links.map((link) => bench.take(line, id, link)))
        const release = async (): Promise<boolean> => {
          const gone = await Promise.allSettled(bench.links.map((link) => bench.free(line, id, link)))
          return gone.filter((each) => each.status === 'fulfilled' && each.value).length * 2 > bench.links.length
        }
        const won = votes.filter((vote) => vote.status === 'fulfilled' && vote.value).length
        if (won * 2 > bench.links.length) return timed(null, since, bench.ttlMs, release)
        await release()
        return null
      },
  },
]
