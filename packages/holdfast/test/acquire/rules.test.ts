/** The rules of the design that core must keep, each as the schedule that broke a draft. */
import { describe, expect, test } from 'vitest'
import type { Driver } from '../../src/contract/driver.ts'
import { LockLostError, OutcomeUnknownError, StoreUnreachableError } from '../../src/index.ts'
import { open } from './patched.ts'

/** The schedule was found by the model (packages/holdfast-lab/src/model), in five steps. */
test('a renewal that finds another place under its id is a loss: the first lapsed, a late enter came', async () => {
  let slow: () => void = () => undefined
  let renewed: () => void = () => undefined
  let enters = 0
  const { hf, runtime } = await open((inner) => ({
    enter(entry, wait) {
      if (++enters > 1) return inner.enter(entry, wait)
      slow = () => void inner.enter(entry, wait)
      return Promise.reject(new StoreUnreachableError('no answer'))
    },
    touch(entries) {
      const since = { monoMs: runtime.now(), wallMs: runtime.wallNow() }
      return new Promise((resolve) => {
        renewed = () =>
          void inner.touch(entries).then((places) => resolve(places.map((place) => place && { ...place, since })))
      })
    },
  }))
  const acquiring = hf.mutex('a').acquire()
  await runtime.pass(100)
  const held = await acquiring
  await runtime.pass(4_000)
  runtime.sleep(6_500)
  const next = await hf.mutex('a', { fairness: 'strict' }).acquire()
  slow()
  renewed()
  await new Promise((resolve) => setImmediate(resolve))
  expect(() => held.assertHeld()).toThrow(LockLostError)
  next.assertHeld()
})

describe('3.3 since is what renewed the lease', () => {
  test('the deadline is counted from before the send, not from the reply', async () => {
    const { hf, runtime } = await open((inner) => ({
      async enter(entry, wait) {
        const place = await inner.enter(entry, wait)
        runtime.sleep(4_000)
        return place
      },
    }))
    const held = await hf.mutex('a').acquire()
    expect(held.remainingMs).toBe(10_000 - 102 - 4_000)
  })

  test('a reply read after its own deadline is not a grant: it is left, and asked for under a new id', async () => {
    const ids: string[] = []
    const left: string[] = []
    const { hf, runtime } = await open((inner) => ({
      async enter(entry, wait) {
        ids.push(entry.id)
        const place = await inner.enter(entry, wait)
        if (ids.length === 1) runtime.sleep(9_950)
        return place
      },
      leave(entry) {
        left.push(entry.id)
        return inner.leave(entry)
      },
    }))
    const held = await hf.mutex('a').acquire()
    expect(held.state).toBe('held')
    expect(ids.length).toBe(2)
    expect(ids[0]).not.toBe(ids[1])
    expect(left).toEqual([ids[0]])
  })
})

describe('3.4 both clocks', () => {
  test('a machine that slept: nothing may be done until the store has been asked', async () => {
    const { hf, runtime } = await open()
    const held = await hf.mutex('a').acquire()
    runtime.wallMs += 60_000
    expect(held.remainingMs).toBe(0)
    expect(() => held.assertHeld()).toThrow(LockLostError)
    await runtime.settle()
    // The store says that the place lives (here only the clock was set): a step forward costs a look, not the lock.
    expect(held.state).toBe('held')
    held.assertHeld()
    expect(held.signal.aborted).toBe(false)
  })

  test('a wall clock that is set back changes nothing', async () => {
    const { hf, runtime } = await open()
    const held = await hf.mutex('a').acquire()
    runtime.wallMs -= 86_400_000
    held.assertHeld()
    await runtime.pass(25_000)
    expect(held.state).toBe('held')
  })

  test('after a pause the clock decides before any timer does', async () => {
    const { hf, runtime } = await open()
    const held = await hf.mutex('a').acquire()
    runtime.sleep(9_899)
    expect(() => held.assertHeld()).toThrow(LockLostError)
    expect(held.state).toBe('lost')
    expect(held.signal.aborted).toBe(true)
    expect(await held.release()).toBe(false)
  })
})

describe('3.5 an id names one place, once', () => {
  test('a lost reply is asked for again with the same id, until that id can no longer be live', async () => {
    const ids: string[] = []
    const { hf, runtime } = await open((inner) => ({
      enter(entry, wait) {
        ids.push(entry.id)
        if (runtime.now() > 11_500) return inner.enter(entry, wait)
        return Promise.reject(new StoreUnreachableError('no answer'))
      },
    }))
    const asking = hf.mutex('a', { ttlMs: 10_000 }).acquire()
    asking.catch(() => {})
    await runtime.pass(9_000)
    expect(new Set(ids).size).toBe(1)
    expect(ids.length).toBeGreaterThan(5)
    await runtime.pass(800)
    await runtime.pass(2_000)
    await expect(asking).rejects.toThrow(StoreUnreachableError)
  })

  test('whose time is up is told what the store said last', async () => {
    const { hf, runtime } = await open(() => ({
      enter: () => Promise.reject(new StoreUnreachableError('postgres: sorry, too many clients already')),
    }))
    const asking = hf.mutex('a').acquire({ waitMs: 2_000 })
    const told = expect(asking).rejects.toThrow(
      'lock "a": the store did not answer within 2000 ms (postgres: sorry, too many clients already)',
    )
    await runtime.pass(2_100)
    await told
  })

  test('an id that the store calls dead is never asked for again', async () => {
    const ids: string[] = []
    const { hf, runtime } = await open((inner) => ({
      enter(entry, wait) {
        ids.push(entry.id)
        return ids.length < 3 ? Promise.resolve(null) : inner.enter(entry, wait)
      },
    }))
    const asking = hf.mutex('a').acquire()
    await runtime.pass(1_000)
    expect((await asking).state).toBe('held')
    expect(new Set(ids).size).toBe(3)
  })

  test('a push is the grant only with the token of the latest answer, and never moves the deadline', async () => {
    let wake: (push: { id: string; token: bigint }) => void = () => {}
    let id = ''
    let touches = 0
    const { hf, runtime } = await open((inner) => ({
      watch(line, place, listener) {
        if (place !== null) id = place
        wake = listener
        return inner.watch(line, place, () => {})
      },
      touch(entries) {
        touches++
        return inner.touch(entries)
      },
    }))
    const first = await hf.mutex('a', { fairness: 'strict' }).acquire()
    let granted = false
    const second = hf.mutex('a', { fairness: 'strict' }).acquire()
    void second.then(() => (granted = true))
    await runtime.settle()
    wake({ id, token: 99n })
    await runtime.settle()
    expect(touches, 'a push that names another place only makes us look').toBe(1)
    expect(granted).toBe(false)
    await runtime.pass(2_000)
    wake({ id, token: first.token / 1024n + 1n })
    const held = await second
    expect(held.remainingMs).toBe(10_000 - 102 - 2_000)
  })
})

describe('3.13 no ghosts', () => {
  test('a try whose first request got no answer is left when it is refused: that request may come late', async () => {
    let first: Parameters<Driver['enter']>[0] | null = null
    let store: Driver | null = null
    const { hf, runtime } = await open((inner) => ({
      enter(entry, wait) {
        store = inner
        if (wait || first !== null) return inner.enter(entry, wait)
        first = entry
        return Promise.reject(new StoreUnreachableError('no answer'))
      },
    }))
    const held = await hf.mutex('a', { fairness: 'strict' }).acquire()
    const trying = hf.mutex('a', { fairness: 'strict' }).tryAcquire()
    await runtime.pass(1_000)
    expect(await trying).toBeNull()
    expect(await held.release()).toBe(true)
    const late = first as Parameters<Driver['enter']>[0] | null
    if (late === null) throw new Error('the try was not asked for')
    expect(await (store as Driver | null)?.enter(late, false), 'it makes a place that nobody wants').toBeNull()
  })

  test('a leave that fails is repeated until the store has answered', async () => {
    let failures = 3
    let leaves = 0
    const { hf, runtime } = await open((inner) => ({
      leave(entry) {
        leaves++
        return failures-- > 0 ? Promise.reject(new StoreUnreachableError('no answer')) : inner.leave(entry)
      },
    }))
    const held = await hf.mutex('a').acquire()
    expect(await held.release(), 'an outage does not make release fail').toBe(true)
    await runtime.pass(5_000)
    expect(leaves).toBe(4)
    expect(await hf.mutex('a').tryAcquire()).not.toBeNull()
  })
})

describe('3.16 hand-over inside the process', () => {
  test('it is bounded by count: then the place goes to the back of the line', async () => {
    let enters = 0
    const { hf } = await open((inner) => ({
      enter(entry, wait) {
        enters++
        return inner.enter(entry, wait)
      },
    }))
    const tokens: bigint[] = []
    const mutex = hf.mutex('a', { handovers: 4 })
    await Promise.all(Array.from({ length: 20 }, () => mutex.using(({ token }) => void tokens.push(token))))
    expect(enters).toBe(4)
    expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(new Set(tokens).size).toBe(20)
  })

  test('it is bounded by one ttl since the grant, and needs a third of the lease', async () => {
    let enters = 0
    const { hf, runtime } = await open((inner) => ({
      enter(entry, wait) {
        enters++
        return inner.enter(entry, wait)
      },
    }))
    const mutex = hf.mutex('a')
    const first = await mutex.acquire()
    const second = mutex.acquire()
    // No timer runs meanwhile, so nothing is renewed.
    runtime.sleep(7_000)
    await first.release()
    expect((await second).remainingMs).toBeGreaterThan(9_000)
    expect(enters).toBe(2)
  })

  test('a release is bound to its own issue: an old handle frees nobody else', async () => {
    const { hf } = await open()
    const mutex = hf.mutex('a')
    const first = await mutex.acquire()
    const waiting = mutex.acquire()
    await first.release()
    const second = await waiting
    await first.release()
    await first[Symbol.asyncDispose]()
    second.assertHeld()
    expect(second.token).toBe(first.token + 1n)
  })

  test('if the shared place is lost, those who wait for it enter again', async () => {
    const { hf, runtime } = await open((inner) => ({
      touch: async (entries) => (runtime.now() < 20_000 ? entries.map(() => null) : inner.touch(entries)),
    }))
    const held = await hf.mutex('a').acquire()
    const next = hf.mutex('a').acquire()
    await runtime.pass(4_000)
    expect(held.state).toBe('lost')
    expect((await next).state).toBe('held')
  })

  test('who comes to a kept lock while its first answer is on the way is served with the release', async () => {
    const rival = { line: 'a', id: 'f'.repeat(32), weight: 1, capacity: 1, ttlMs: 10_000, data: '{}' }
    let isFirst = true
    const { hf, runtime } = await open((inner) => ({
      async enter(entry, wait) {
        const place = await inner.enter(entry, wait)
        // The store tells of the rival on another connection, which is faster than this answer.
        if (isFirst) await inner.enter(rival, true)
        isFirst = false
        return place
      },
    }))
    const held = await hf.mutex('a', { keep: true }).acquire()
    await runtime.settle()
    await held.release()
    await runtime.settle()
    const left: number[] = []
    for await (const { holders, waiters } of hf.list()) left.push(holders.length, waiters.length)
    expect(left, 'the rival holds, and nobody waits').toEqual([1, 0])
  })

  test('when its numbers are used up, the next place is asked for without an answer about the old one', async () => {
    let answer: () => void = () => undefined
    const answered = new Promise<void>((resolve) => (answer = resolve))
    const { hf } = await open((inner) => ({
      async leave(entry, afterMs) {
        await inner.leave(entry, afterMs)
        await answered
      },
    }))
    const tokens: bigint[] = []
    for (let i = 0; i < 1_025; i++) {
      const held = await hf.mutex('a', { keep: true }).acquire()
      tokens.push(held.token)
      expect(await held.release()).toBe(true)
    }
    expect(tokens.every((token, i) => i === 0 || token > (tokens[i - 1] as bigint))).toBe(true)
    expect(new Set(tokens.map((token) => token / 1024n)).size).toBe(2)
    answer()
    await hf.close()
  })

  test('a single try for one whose numbers are used up is not refused because of the old place', async () => {
    const { hf } = await open((inner) => ({
      async leave(entry, afterMs) {
        await new Promise((resolve) => setImmediate(resolve))
        await inner.leave(entry, afterMs)
      },
    }))
    const lock = hf.mutex('a', { keep: true })
    for (let i = 0; i < 1_024; i++) await (await lock.acquire()).release()
    expect(await lock.tryAcquire()).not.toBeNull()
  })
})

test('a question whether readers may join tells those that wait on the place that it is granted', async () => {
  const writer = { line: 'a', id: 'f'.repeat(32), weight: 1_000_000, capacity: 1_000_000, ttlMs: 10_000, data: '{}' }
  let store: Driver | null = null
  const { hf, runtime } = await open((inner) => {
    store = inner
    return { watch: () => () => {} }
  })
  await (store as Driver | null)?.enter(writer, true)
  const first = hf.rwLock('a').read.acquire()
  await runtime.settle()
  await (store as Driver | null)?.leave(writer)
  const second = hf.rwLock('a').read.acquire()
  await runtime.settle()
  await runtime.settle()
  const late = new Promise((resolve) => setTimeout(resolve, 1_000, 'late'))
  expect(await Promise.race([Promise.all([first, second]), late])).toHaveLength(2)
})

describe('3.17 swap', () => {
  test('a write whose reply was lost is found by its nonce when it is asked for again, and has succeeded', async () => {
    let losses = 1
    let runs = 0
    const { hf, runtime } = await open((inner) => ({
      async swap(key, change) {
        const view = await inner.swap(key, change)
        if (change !== null && losses-- > 0) throw new StoreUnreachableError('no answer')
        return view
      },
    }))
    const update = hf.cell<string>('k').update(() => `mine ${++runs}`)
    await runtime.pass(1_000)
    expect((await update).value).toBe('mine 1')
    expect(runs).toBe(1)
  })

  test('a write whose reply was lost and that was overwritten since is unknown, and is not run again', async () => {
    let lose = true
    let runs = 0
    const { hf, runtime } = await open((inner) => ({
      async swap(key, change) {
        const view = await inner.swap(key, change)
        if (change === null || !lose) return view
        lose = false
        await inner.swap(key, { version: view.version, next: '"theirs"', ttlMs: 0, nonce: 'f'.repeat(32) })
        throw new StoreUnreachableError('no answer')
      },
    }))
    const update = hf.cell<string>('k').update(() => `mine ${++runs}`)
    const outcome = expect(update).rejects.toThrow(OutcomeUnknownError)
    await runtime.pass(1_000)
    await outcome
    expect(runs).toBe(1)
    expect((await hf.cell('k').read()).value).toBe('theirs')
  })
})
