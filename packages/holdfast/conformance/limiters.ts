/** Rate limits: exact, counted for all clients together, on the store's own step and on compare-and-set alike. */
import assert from 'node:assert/strict'
import { AcquireTimeoutError, ClosedError, StoreUnreachableError, UsageError } from '../src/contract/errors.ts'
import type { Driver } from '../src/contract/driver.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { LimiterOptions } from '../src/kit/limiter/options.ts'
import type { Draft } from './case.ts'
import { type Around, FaultyDriver, lost } from './faulty.ts'
import { type Rig, until, within } from './rig.ts'

type Open = () => Promise<Holdfast>

/** A driver whose store can only compare and set. */
export function cellsOnly(driver: Driver, around: Around = {}): Driver {
  const bare: { take?: unknown } & Driver = new FaultyDriver(driver, around)
  delete bare.take
  return bare
}

/** Once with the store's own rate limits, once with its cells alone. */
function onBoth(name: string, run: (rig: Rig, open: Open) => Promise<void>): Draft[] {
  return [
    { law: 'limiter', name, run: (rig) => run(rig, () => rig.holdfast()) },
    { law: 'limiter', name: `${name} (by compare-and-set)`, run: (rig) => run(rig, () => rig.holdfast({}, cellsOnly)) },
  ]
}

/** So slow that nothing drains while a case runs. */
const SLOW: LimiterOptions = { limit: 1, perMs: 3_600_000, burst: 5 }

export const limiters: Draft[] = [
  ...onBoth('what is taken is gone for all clients; keys and names are apart', async (rig, open) => {
    const name = rig.name('limit')
    const [a, b] = [await open(), await open()]
    const [mine, theirs] = [a.limiter(name, SLOW), b.limiter(name, SLOW)]
    const first = await mine.take('k', 2)
    assert.deepEqual(
      [first.allowed, first.remaining, first.retryAfterMs, first.shut, first.counted],
      [true, 3, 0, false, true],
    )
    assert.equal((await theirs.look('k')).remaining, 3)
    assert.equal((await theirs.take('k', 3)).allowed, true)
    const refused = await mine.take('k')
    assert.deepEqual([refused.allowed, refused.remaining], [false, 0])
    assert.ok(refused.retryAfterMs > 3_000_000 && refused.retryAfterMs <= 3_600_000, String(refused.retryAfterMs))
    assert.ok(refused.resetMs > 17_000_000 && refused.resetMs <= 18_000_000, String(refused.resetMs))
    assert.equal((await mine.take('other', 5)).allowed, true, 'another key')
    assert.equal((await b.limiter(`${name}2`, SLOW).take('k', 5)).allowed, true, 'another name')
  }),
  ...onBoth('many at once never get more than there is', async (rig, open) => {
    const name = rig.name('limit')
    const limiters = [await open(), await open(), await open()].map((hf) => hf.limiter(name, { ...SLOW, burst: 17 }))
    const outcomes = await within(
      'all are answered',
      Promise.all(Array.from({ length: 60 }, (_, i) => (limiters[i % 3] as (typeof limiters)[0]).take('hot'))),
    )
    assert.equal(outcomes.filter(({ allowed }) => allowed).length, 17)
  }),
  ...onBoth('periods below a second refill in their time, not for ever and not at once', async (rig, open) => {
    const limiter = (await open()).limiter(rig.name('limit'), { limit: 2, perMs: 500, burst: 2 })
    assert.equal((await limiter.take('k', 2)).allowed, true)
    let refused = await limiter.take('k', 2)
    // On a busy machine half a second may be over by then.
    await until('it is refused', async () => !refused.allowed || !(refused = await limiter.take('k', 2)).allowed)
    assert.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= 500, String(refused.retryAfterMs))
    assert.equal((await within('it refills', limiter.acquire('k', { cost: 2 }))).allowed, true)
  }),
  ...onBoth('over time no more is let through than the rate allows', async (rig, open) => {
    const name = rig.name('limit')
    const options = { limit: 50, perMs: 200, burst: 10 }
    const limiters = [await open(), await open()].map((hf) => hf.limiter(name, options))
    const startedAt = performance.now()
    let allowed = 0
    const ask = async (limiter: (typeof limiters)[0]): Promise<void> => {
      while (performance.now() - startedAt < 600) if ((await limiter.take('k')).allowed) allowed++
    }
    await Promise.all(limiters.flatMap((limiter) => [ask(limiter), ask(limiter)]))
    // One more than the algorithm lets through, for clocks that count in milliseconds.
    const most = 10 + Math.ceil((performance.now() - startedAt) / 4) + 1
    assert.ok(allowed >= 1 && allowed <= most, `${allowed} let through, at most ${most} are right`)
  }),
  ...onBoth('acquire waits in order, gives up at once when it must, and ends by its signal', async (rig, open) => {
    const hf = await open()
    const limiter = hf.limiter(rig.name('limit'), { limit: 1, perMs: 100, burst: 1 })
    const order: number[] = []
    const waits = [0, 1, 2, 3].map(async (i) => {
      await limiter.acquire('k')
      order.push(i)
    })
    await within('all are served', Promise.all(waits))
    assert.deepEqual(order, [0, 1, 2, 3])
    const slow = hf.limiter(rig.name('limit'), SLOW)
    await slow.take('k', 5)
    await assert.rejects(slow.acquire('k', { waitMs: 60_000 }), AcquireTimeoutError)
    await assert.rejects(slow.acquire('k', { waitMs: 0 }), AcquireTimeoutError)
    const controller = new AbortController()
    const reason = new Error('changed my mind')
    const ends = [1, 2].map(() =>
      assert.rejects(slow.acquire('k', { signal: controller.signal }), (error) => error === reason),
    )
    controller.abort(reason)
    await Promise.all(ends)
    const late = slow.acquire('k')
    const closed = assert.rejects(late, ClosedError)
    await hf.close()
    await within('a waiter is told of the close', closed)
    await assert.rejects(slow.take('k'), ClosedError)
  }),
  ...onBoth('who goes on asking is shut out for a time; who waits is not', async (rig, open) => {
    const name = rig.name('limit')
    const options = { limit: 1, perMs: 50, burst: 1, penalty: { after: 2, shutMs: 1_000 } }
    const [a, b] = [await open(), await open()]
    const [mine, theirs] = [a.limiter(name, options), b.limiter(name, options)]
    await within('patience is no offence', Promise.all([1, 2, 3, 4, 5, 6].map(() => mine.acquire('patient'))))
    assert.equal((await theirs.look('patient')).shut, false)
    let keys = 0
    // On a busy machine the time may be over before the other client asks: then try another key.
    await until('it is shut for all clients', async () => {
      const key = `k${keys++}`
      let askedAt = 0
      // The bucket drains meanwhile, so the number of tries is open: they all come at once, in one turn.
      await until('it is shut', async () => {
        askedAt = performance.now()
        const asked = await Promise.all(Array.from({ length: 8 }, () => mine.take(key)))
        return asked.some(({ shut }) => shut)
      })
      const { shut, retryAfterMs } = await theirs.take(key)
      if (!shut && performance.now() - askedAt >= 1_000) return false
      assert.equal(shut, true, 'for all clients')
      assert.ok(retryAfterMs > 0 && retryAfterMs <= 1_000)
      await until('it is open again', async () => (await theirs.take(key)).allowed)
      return true
    })
  }),
  ...onBoth('batches are handed out without asking, and never exceed the limit', async (rig, open) => {
    const name = rig.name('limit')
    const options = { ...SLOW, burst: 100, batch: { size: 20, holdMs: 60_000 } }
    const limiters = [await open(), await open()].map((hf) => hf.limiter(name, options))
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, i) => (limiters[i % 2] as (typeof limiters)[0]).take('hot')),
    )
    const allowed = outcomes.filter((outcome) => outcome.allowed).length
    assert.equal(allowed, 100, 'all of it is used: the last batches are as small as what is left')
  }),
  {
    law: 'limiter',
    name: 'while the store is silent, closed rejects and open lets through, uncounted',
    async run(rig) {
      let isSilent = true
      const silent = (driver: Driver): Driver =>
        new FaultyDriver(driver, {
          before(call) {
            if (isSilent) throw lost(call)
          },
        })
      const hf = await rig.holdfast({ connectTimeoutMs: 100 }, silent)
      const name = rig.name('limit')
      await assert.rejects(hf.limiter(name, SLOW).take('k'), StoreUnreachableError)
      const open = hf.limiter(name, { ...SLOW, whenDown: 'open' })
      for (let i = 0; i < 9; i++) {
        const { allowed, counted } = await open.take('k')
        assert.deepEqual([allowed, counted], [true, false])
      }
      isSilent = false
      await until('the store is asked again', async () => (await open.take('k')).counted)
      await assert.rejects(open.take('k', 9), UsageError)
    },
  },
]
