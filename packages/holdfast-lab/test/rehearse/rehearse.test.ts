/** A function with a known gap is found by the pause that goes through it, and one without a gap is not. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LockLostError, StaleTokenError, UsageError } from 'holdfast'
import { expect, test } from 'vitest'
import {
  htmlReport,
  rehearse,
  type RehearseOptions,
  RehearsalError,
  type Scene,
  survey,
  textReport,
} from 'holdfast-lab/rehearse'

/** A stock that checks tokens where they are given. */
class Stock {
  left = 7
  puts = 0
  #newest = 0n

  count(token = this.#newest): number {
    this.#check(token)
    return this.left
  }

  put(left: number, token = this.#newest): void {
    this.#check(token)
    this.left = left
    this.puts++
  }

  #check(token: bigint): void {
    const newest = this.#newest
    if (token < newest) throw new StaleTokenError('an older token', { given: token, newest })
    this.#newest = token
  }
}

type Act = (scene: Scene<Stock>) => Promise<void>

const given: RehearseOptions<Stock> = { resource: () => new Stock(), reads: ['count'] }

const bare: Act = ({ hf, resource }) =>
  hf.mutex('stock').using(async () => {
    await resource.put((await resource.count()) - 1)
  })

const asserted: Act = ({ hf, resource }) =>
  hf.mutex('stock').using(async (held) => {
    const left = await resource.count()
    held.assertHeld()
    await resource.put(left - 1)
  })

const guarded: Act = ({ hf, resource }) =>
  hf.mutex('stock').using(async ({ token }) => {
    await resource.put((await resource.count(token)) - 1, token)
  })

test('nothing between the look and the effect: held.assertHeld() is named, with the lines', async () => {
  const { failure } = await survey(bare, given)
  expect(failure).toMatchObject({ kind: 'lost-update', missing: 'assertHeld' })
  expect(failure?.pausedAt).toMatch(/rehearse\.test\.ts:\d+:\d+$/)
  expect(failure?.advice).toMatch(/assertHeld\(\) is missing between the await at \S+ and put\(6\) at \S+\.ts:\d+/)
  expect(failure?.timeline.moments.filter(({ kind }) => kind === 'harm')).toHaveLength(1)
})

test('with assertHeld() only what is under way is left, and a guard is named', async () => {
  await expect(rehearse(asserted, { ...given, pauses: ['await'] })).resolves.toMatchObject({ failure: null })
  const { failure } = await survey(asserted, given)
  expect(failure).toMatchObject({ kind: 'lost-update', missing: 'guard' })
})

test('with a guard that sees every call the function survives, and the second holder was there', async () => {
  const rehearsal = await rehearse(guarded, given)
  expect(rehearsal).toMatchObject({ failure: null, isWhole: true, calls: 2 })
  expect(rehearsal.met).toBeGreaterThan(3)
})

test('a guard that does not see the look lets the late effect in between', async () => {
  const half: Act = ({ hf, resource }) =>
    hf.mutex('stock').using(async ({ token }) => {
      await resource.put((await resource.count()) - 1, token)
    })
  expect((await survey(half, given)).failure?.kind).toBe('lost-update')
})

test('an await of nothing after assertHeld() is a gap as well', async () => {
  const late: Act = ({ hf, resource }) =>
    hf.mutex('stock').using(async (held) => {
      const left = await resource.count()
      held.assertHeld()
      await Promise.resolve()
      await resource.put(left - 1)
    })
  const { failure } = await survey(late, { ...given, pauses: ['await'] })
  expect(failure).toMatchObject({ kind: 'lost-update', missing: 'assertHeld' })
})

test('a test fails with the drawn schedule', async () => {
  const error = await rehearse(bare, given).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(RehearsalError)
  expect((error as RehearsalError).message).toMatch(/^✗ lost update: .*\n\n[\s\S]*second holder[\s\S]*\n→ held\./)
  expect(htmlReport([['sale', (error as RehearsalError).rehearsal]])).toMatch(/<svg[\s\S]*stands still/)
})

test('an effect without a lock is told, also after the release', async () => {
  const without: Act = async ({ resource }) => resource.put(1)
  const after: Act = async ({ hf, resource }) => {
    await hf.mutex('stock').using(async () => resource.count())
    await resource.put(1)
  }
  expect((await survey(without, given)).failure).toMatchObject({ kind: 'no-lock', missing: 'lock' })
  expect((await survey(after, given)).failure).toMatchObject({ kind: 'no-lock', missing: 'lock' })
})

test('holders that may share do each other no harm; a writer and another do', async () => {
  const shared: Act = ({ hf, resource }) => hf.semaphore('stock', 2).using(async () => resource.put(1))
  await expect(rehearse(shared, given)).resolves.toMatchObject({ failure: null })
  const written: Act = ({ hf, resource }) => hf.rwLock('stock').write.using(async () => resource.put(1))
  expect((await survey(written, given)).failure?.kind).toBe('late-effect')
})

test('timers and clocks of the function are simulated, those of others are not', async () => {
  const before = { setTimeout: globalThis.setTimeout, Date: globalThis.Date, now: performance.now }
  const seen: number[] = []
  const slow: Act = ({ hf, resource }) =>
    hf.mutex('stock').using(async (held) => {
      const from = Date.now()
      await sleep(300_000)
      await new Promise((resolve) => setTimeout(resolve, 300_000))
      seen.push(new Date().getTime() - from)
      await resource.put(1, held.token)
    })
  const from = Date.now()
  await rehearse(slow, given)
  // Each of several schedules takes ten minutes by its own clock.
  expect(Date.now() - from).toBeLessThan(100_000)
  expect(seen.length).toBeGreaterThan(4)
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(600_000)
  expect({ setTimeout: globalThis.setTimeout, Date: globalThis.Date }).toEqual({
    setTimeout: before.setTimeout,
    Date: before.Date,
  })
})

test('a resource may take its time by the real clock', async () => {
  class Slow extends Stock {
    readonly log = { lines: 0, write: async () => void (await new Promise((done) => setImmediate(done))) }
  }
  const logs = ({ hf, resource }: Scene<Slow>): Promise<void> =>
    hf.mutex('stock').using(async ({ token }) => {
      await resource.log.write()
      await resource.put((await resource.count(token)) - 1, token)
    })
  const options = { resource: () => new Slow(), reads: ['count'], harmless: ['log.write'] }
  await expect(rehearse(logs, options)).resolves.toMatchObject({ failure: null, calls: 3 })
})

test('a check that fails, another rival, and a function that never ends', async () => {
  const check = ({ left, puts }: Stock): void => {
    if (left + puts !== 7) throw new Error(`${left} are left after ${puts}`)
  }
  const options = { ...given, harmless: ['put'], check }
  const rival: Act = async ({ hf, resource }) => hf.mutex('stock').using(async () => resource.put(9))
  expect((await survey(bare, options)).failure?.happened).toBe('the check has failed: 6 are left after 2')
  const { failure } = await survey(guarded, { ...options, rival })
  expect(failure?.kind).toBe('check')
  expect(failure?.timeline.moments.map(({ text }) => text)).toContain('put(9) → done')
  const stuck: Act = async (scene) => {
    await asserted(scene).catch(async (error: unknown) => {
      if (error instanceof LockLostError) await new Promise(() => {})
    })
  }
  expect((await survey(stuck, given)).failure).toMatchObject({ kind: 'endless', missing: 'end' })
})

test('what can show nothing is refused', async () => {
  const fails: Act = async () => {
    throw new RangeError('no')
  }
  await expect(rehearse(fails, given)).rejects.toThrow('the function fails without any pause: RangeError: no')
  const apart: Act = ({ hf, resource, who }) => hf.mutex(who).using(async () => resource.put(1))
  await expect(rehearse(apart, given)).rejects.toThrow('nothing was rehearsed')
  await expect(rehearse(bare, {} as never)).rejects.toThrow(UsageError)
  await expect(rehearse(bare, { ...given, schedulesMax: 0 })).rejects.toThrow(UsageError)
})

test('schedules are counted, and no more are run than asked for', async () => {
  const rehearsal = await rehearse(guarded, { ...given, schedulesMax: 4 })
  expect(rehearsal).toMatchObject({ schedules: 4, isWhole: false })
})

test('a report claims no more than was tried', async () => {
  const awaits = textReport(await survey(asserted, { ...given, pauses: ['await'] }))
  expect(awaits).toMatch(/^✓ survives a pause at every await; not tried: .* only a guard helps/)
  expect(awaits).not.toContain('every call')
  const calls = textReport(await survey(guarded, { ...given, pauses: ['call'] }))
  expect(calls).toMatch(/^✓ survives a pause at every call; not tried: a pause at an await/)
  expect(textReport(await survey(guarded, given))).toContain('at every await and every call')
})

test('an assertHeld() whose error is caught is none, and the advice says so', async () => {
  const deaf: Act = ({ hf, resource }) =>
    hf.mutex('stock').using(async (held) => {
      const left = await resource.count()
      try {
        held.assertHeld()
      } catch {
        // Goes on all the same.
      }
      await resource.put(left - 1)
    })
  const { failure } = await survey(deaf, given)
  expect(failure?.advice).toMatch(/assertHeld\(\) is missing .*, or its error was caught there/)
})

test('a guard on one of two resources: what goes to the other is named', async () => {
  const shop = (): { stock: Stock; mails: { sent: number; send(): void } } => ({
    stock: new Stock(),
    mails: {
      sent: 0,
      send() {
        this.sent++
      },
    },
  })
  const { failure } = await survey<ReturnType<typeof shop>>(
    ({ hf, resource }) =>
      hf.mutex('stock').using(async (held) => {
        const left = await resource.stock.count(held.token)
        held.assertHeld()
        await resource.stock.put(left - 1, held.token)
        held.assertHeld()
        await resource.mails.send()
      }),
    { resource: shop, reads: ['stock.count'] },
  )
  expect(failure).toMatchObject({ kind: 'late-effect', missing: 'guard' })
  expect(failure?.happened).toContain('mails.send()')
})
