/**
 * A place is written anew by its owner, by its heir and by a break, and each of them may come between two steps of
 * another.
 */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { LockLostError, NotHeldError } from '../../../src/contract/errors.ts'
import type { RequestOp } from '../../../src/clients/etcd/index.ts'
import type { Held } from '../../../src/hold/held.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { EtcdDriver } from '../../../src/stores/etcd/driver.ts'
import { etcd } from '../../../src/stores/etcd/index.ts'
import { LineLayout } from '../../../src/stores/etcd/keys.ts'
import { system } from '../../../src/system.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { lossOf, oneMember, open, rawClient } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

// Heartbeats so rare that nothing in a test can be owed to them.
const RARE = { ttlMs: 300_000 }

/** A transaction that waits before it is sent. */
interface Stopped {
  /** It has come. */
  readonly here: Promise<void>
  /** Lets it go; fulfilled when etcd has carried it out. */
  go(): Promise<void>
}

interface Gate {
  readonly opened: Promise<void>
  open(): void
}

function gate(): Gate {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

/** An instance on etcd, and for each test the first transaction with an operation that the test accepts. */
async function stopping(
  ...tests: ((op: RequestOp) => boolean)[]
): Promise<{ readonly hf: Holdfast; readonly stops: Stopped[] }> {
  const client = rawClient(url)
  const txn = client.txn.bind(client)
  const traps = tests.map((isIt) => ({ isIt, here: gate(), free: gate(), done: gate() }))
  const armed = new Set(traps)
  client.txn = async (request, options) => {
    const trap = [...armed].find(({ isIt }) => request.success?.some(isIt) === true)
    if (trap === undefined) return txn(request, options)
    armed.delete(trap)
    trap.here.open()
    await trap.free.opened
    const answer = await txn(request, options)
    trap.done.open()
    return answer
  }
  const ttlMsMin = (await client.lease.shortest()) * 1_000
  const keys = new LineLayout('holdfast')
  const hf = makeInstance(
    new EtcdDriver({ client, keys, counting: true, timeoutMs: 5_000, ttlMsMin, runtime: system }),
    {},
  )
  onTestFinished(() => hf.close())
  const stops = traps.map(({ here, free, done }) => ({
    here: here.opened,
    go: () => {
      free.open()
      return done.opened
    },
  }))
  return { hf, stops }
}

function puts(text: string): (op: RequestOp) => boolean {
  return ({ put }) => put?.value !== undefined && Buffer.from(put.value).includes(text)
}

const raises = puts('"turn":1')
const breaks = puts('"broken":true')
const removes = ({ deleteRange }: RequestOp): boolean => deleteRange !== undefined

async function raisedKeys(): Promise<number> {
  const range = { key: Buffer.from('holdfast/raised/'), rangeEnd: Buffer.from('holdfast/raised0') }
  return (await rawClient(url).range(range)).kvs.length
}

/** By now a hold has lasted long enough to be watched. */
function lasting(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1_500))
}

describe.skipIf(skipped('etcd'))('a place that is written anew', () => {
  test('by its own upgrade, while it is released with minHoldMs: it does not stay longer than that', async () => {
    const { hf: a, stops } = await stopping(raises, breaks)
    const [raise, outlast] = stops as [Stopped, Stopped]
    const b = await open(url)
    const ttl = { ttlMs: 3_000 }
    // It keeps the lease alive that the other place is on.
    const other = await a.mutex('min-hold-other', ttl).acquire()
    const held = await a.rwLock('min-hold', { ...ttl, minHoldMs: 2_000 }).upgrade.acquire()
    const upgrading = held.upgrade().then(
      () => 'writes',
      () => 'gave up',
    )
    await raise.here
    const releasing = held.release()
    await outlast.here
    await raise.go()
    await outlast.go()
    await releasing
    expect(await upgrading).toBe('gave up')
    await (await b.rwLock('min-hold', ttl).read.acquire({ waitMs: 20_000 })).release()
    other.assertHeld()
  })

  test('by an upgrade, while it is broken: it is broken all the same, and counts until its lease is over', async () => {
    const { hf: b, stops } = await stopping(breaks)
    const [demotion] = stops as [Stopped]
    const a = await open(url)
    const held = await a.rwLock('break-upgrade', RARE).upgrade.acquire()
    const breaking = b.break('break-upgrade')
    await demotion.here
    const write = await held.upgrade()
    await demotion.go()
    expect(await breaking).toBe(1)
    expect(await lossOf(write)).toBeInstanceOf(LockLostError)
    expect(await b.rwLock('break-upgrade', RARE).read.tryAcquire()).toBeNull()
  })

  test('by an upgrade, while it is broken with now: nothing is left of it', async () => {
    const { hf: b, stops } = await stopping(removes)
    const [removal] = stops as [Stopped]
    const a = await open(url)
    const before = await raisedKeys()
    const held = await a.rwLock('break-now', RARE).upgrade.acquire()
    const breaking = b.break('break-now', { now: true })
    await removal.here
    const write = await held.upgrade()
    await removal.go()
    expect(await breaking).toBe(1)
    expect(await lossOf(write)).toBeInstanceOf(LockLostError)
    expect(await raisedKeys()).toBe(before)
  })

  test('by an export, while it is broken: the ticket works no longer', async () => {
    const { hf: b, stops } = await stopping(breaks)
    const [demotion] = stops as [Stopped]
    const a = await open(url)
    const held = await a.mutex('break-export', RARE).acquire()
    const breaking = b.break('break-export')
    await demotion.here
    const ticket = await held.export()
    await demotion.go()
    expect(await breaking).toBe(1)
    await expect(a.adopt(ticket)).rejects.toBeInstanceOf(NotHeldError)
  })

  test('by an extension, while an upgrade waits: readers that came after the upgrade are not let in', async () => {
    const [a, b, c] = [await open(url), await open(url), await open(url)]
    const fixed = { ttlMs: 30_000, renew: false, fairness: 'strict' } as const
    const held = await a.rwLock('extended', fixed).upgrade.acquire()
    const reader = await b.rwLock('extended', RARE).read.acquire()
    const upgrading = held.upgrade({ waitMs: 20_000 })
    await expect.poll(async () => (await c.rwLock('extended', RARE).read.tryAcquire()) === null).toBe(true)
    let isServed = false
    const served = c
      .rwLock('extended', RARE)
      .read.acquire()
      .finally(() => (isServed = true))
    await held.extend(60_000)
    await reader.release()
    const write = await upgrading
    expect(isServed).toBe(false)
    await write.release()
    await (await served).release()
    await held.release()
  })
})

describe.skipIf(skipped('etcd'))('a process that has done nothing else hears at once that a hold is taken', () => {
  test.each(['adopted', 'of several at once'])('%s', async (how) => {
    const [a, b] = [await open(url), await open(url)]
    const line = `told-${how}`
    const held =
      how === 'adopted'
        ? await b.adopt(await (await a.mutex(line, RARE).acquire()).export())
        : ((await b.all([b.mutex(line, RARE), b.mutex(`${line}-too`, RARE)]).acquire()).holds[0] as Held)
    await lasting()
    held.assertHeld()
    expect(await a.break(line, { now: true })).toBe(1)
    expect(await lossOf(held)).toBeInstanceOf(LockLostError)
  })
})

describe.skipIf(skipped('etcd'))('a hold with lockDelayMs that got another id', () => {
  test('extended, it is known to its own store: a guard is made for it', async () => {
    const store = await etcd(url)
    const hf = makeInstance(store, {})
    onTestFinished(() => hf.close())
    const settings = { ...RARE, renew: false, fairness: 'strict', lockDelayMs: 1_000 } as const
    const held = await hf.mutex('delayed-extended', settings).acquire()
    const before = store.guard(held)
    await held.extend(600_000)
    expect(store.guard(held)).toEqual(before)
  })

  test('adopted, it hears at once that it is taken', async () => {
    const [a, b] = [await open(url), await open(url)]
    const ticket = await (await a.mutex('delayed-adopted', { ...RARE, lockDelayMs: 1_000 }).acquire()).export()
    const held = await b.adopt(ticket)
    await lasting()
    held.assertHeld()
    await a.break('delayed-adopted', { now: true })
    expect(await lossOf(held)).toBeInstanceOf(LockLostError)
  })

  test('adopted where a worker renews, it is renewed while its own thread is blocked', async () => {
    const [a, b] = [await open(url), await open(url, { heartbeat: 'worker' })]
    const settings = { ttlMs: 2_000, lockDelayMs: 1_000 }
    const held = await b.adopt(await (await a.mutex('delayed-worker', settings).acquire()).export())
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_000)
    held.assertHeld()
    expect(await held.release()).toBe(true)
  })
})
