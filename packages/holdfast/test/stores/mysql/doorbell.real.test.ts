/** Waiters on MySQL: rung for by a lock of the server, polled for where that can't be. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { Driver, Entry, Push } from '../../../src/contract/driver.ts'
import { mysql, type MysqlOptions } from '../../../src/stores/mysql/index.ts'
import { isTrue, type Plain, useMariadb } from './server.ts'

const bench = useMariadb()
const open: Driver[] = []
let admin: Plain

beforeAll(async () => {
  admin = await bench.connect()
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
})
afterEach(async () => {
  for (const driver of open.splice(0)) await driver.close()
})

// Polls so seldom that what arrives within a test was rung for.
const SELDOM: MysqlOptions = { pollMs: { min: 60_000, max: 60_000 } }
const EARS = "SELECT COUNT(*) >= 1 FROM information_schema.PROCESSLIST WHERE info LIKE '%_ear_%' OR state = 'User lock'"
// The server shows what a procedure is at, not the call: this one sleeps between two looks.
const HEEDING = "FROM information_schema.PROCESSLIST WHERE state = 'User sleep'"

function make(options: MysqlOptions = {}): Driver {
  const driver = mysql(bench.url, options)
  open.push(driver)
  return driver
}

const entry = (line: string, more: Partial<Entry> = {}): Entry => ({
  line,
  id: randomBytes(16).toString('hex'),
  weight: 1,
  capacity: 1,
  ttlMs: 60_000,
  data: '{}',
  ...more,
})
const name = (): string => `bell ${randomBytes(6).toString('hex')}`

async function wait(driver: Driver, waiter: Entry): Promise<{ token: bigint; woken: Promise<Push | undefined> }> {
  const woken = new Promise<Push | undefined>((resolve) => {
    void Promise.resolve(driver.watch(waiter.line, waiter.id, resolve))
  })
  const place = await driver.enter(waiter, true)
  return { token: place?.token ?? 0n, woken }
}

test('each in turn is told that it is granted, by whoever leaves', async () => {
  const drivers = [make(SELDOM), make(SELDOM), make(SELDOM)] as const
  expect(drivers[0].traits.push).toBe('answer')
  const line = name()
  const [a, b, c, d] = [entry(line), entry(line), entry(line), entry(line)]
  await drivers[0].enter(a, true)
  const second = await wait(drivers[1], b)
  const third = await wait(drivers[2], c)
  const fourth = await wait(drivers[1], d)
  await drivers[0].leave(a)
  expect(await second.woken).toEqual({ id: b.id, token: second.token })
  await drivers[1].leave(b)
  expect(await third.woken).toEqual({ id: c.id, token: third.token })
  await drivers[2].leave(c)
  expect(await fourth.woken).toEqual({ id: d.id, token: fourth.token })
  expect((await drivers[1].touch([d]))[0]).toMatchObject({ token: fourth.token, ahead: 0 })
})

test('a waiter in front that gives up, and a semaphore: the next one is told all the same', async () => {
  const [one, two] = [make(SELDOM), make(SELDOM)]
  const line = name()
  const [a, b, c] = [entry(line), entry(line), entry(line)]
  await one.enter(a, true)
  await wait(two, b)
  const third = await wait(two, c)
  await isTrue(admin, EARS)
  await two.leave(b)
  await one.leave(a)
  expect(await third.woken).toBeDefined()
  const permits = name()
  const held = [1, 2].map(() => entry(permits, { capacity: 2 })) as [Entry, Entry]
  for (const place of held) await one.enter(place, true)
  const waiter = await wait(two, entry(permits, { capacity: 2 }))
  // Not the nearest in front.
  await one.leave(held[0])
  expect((await waiter.woken)?.token).toBe(waiter.token)
})

test('sessions that are ended ring for nobody: the place stands, and is found granted when it is', async () => {
  const [one, two] = [make(SELDOM), make({ pollMs: { min: 20, max: 50 } })]
  const line = name()
  const [a, b] = [entry(line), entry(line)]
  await one.enter(a, true)
  const second = await wait(two, b)
  await isTrue(admin, EARS)
  const ids = await admin.ask(
    'SELECT id FROM information_schema.PROCESSLIST WHERE id <> CONNECTION_ID() AND user = "root"',
  )
  for (const [id] of ids) await admin.ask(`KILL CONNECTION ${String(id)}`).catch(() => [])
  expect((await two.touch([b]))[0]).toMatchObject({ token: second.token, ahead: 1 })
  await one.leave(a)
  await second.woken
  expect((await two.touch([b]))[0]).toMatchObject({ token: second.token, ahead: 0 })
})

test('without the doorbell it is polled for, and a lock that is let go leaves no bell behind', async () => {
  const [one, two] = [make({ doorbell: false }), make({ doorbell: false })]
  expect(one.traits.push).toBe('hint')
  const line = name()
  const [a, b] = [entry(line), entry(line)]
  await one.enter(a, true)
  const second = await wait(two, b)
  await one.leave(a)
  expect(await second.woken).toBeUndefined()
  const rung = make()
  const [c, d] = [entry(line), entry(line)]
  await rung.enter(c, true)
  await rung.enter(d, true)
  for (const place of [c, d]) await rung.leave(place)
  const [[free] = []] = await admin.ask('SELECT IS_USED_LOCK(?) IS NULL', [`holdfast.${d.id.toUpperCase()}`])
  expect(String(free)).toBe('1')
})

test('who observes a line hears of whoever comes, also in a second line', async () => {
  const [one, two] = [make(SELDOM), make(SELDOM)]
  const [line, other] = [name(), name()]
  const heard: (() => void)[] = []
  const next = (): Promise<void> => new Promise((resolve) => heard.push(resolve))
  const wake = (): void => heard.splice(0).forEach((resolve) => resolve())
  await one.watch(line, null, wake)
  const came = next()
  await two.enter(entry(line), true)
  await came
  const waits = next()
  await two.enter(entry(line), true)
  await waits
  await one.watch(other, null, wake)
  const elsewhere = next()
  await two.enter(entry(other), true)
  await elsewhere
})

test('an observer goes on being told after its connection was lost', async () => {
  const [one, two] = [make(), make()]
  const line = name()
  let changes = 0
  await one.watch(line, null, () => void changes++)
  let id: unknown
  await expect
    .poll(async () => ([[id] = [] as unknown[]] = await admin.ask(`SELECT id ${HEEDING}`))[0]?.[0], { timeout: 10_000 })
    .toBeDefined()
  await admin.ask(`KILL ${String(id)}`)
  await isTrue(admin, `SELECT COUNT(*) >= 1 ${HEEDING} AND id <> ${String(id)}`)
  const before = changes
  await two.enter(entry(line), true)
  await expect.poll(() => changes, { timeout: 10_000 }).toBeGreaterThan(before)
})

test('a second observer of a line takes no change from the first', async () => {
  const [one, two] = [make({ doorbell: false, ...SELDOM }), make()]
  const line = name()
  let tell: () => void = () => undefined
  const told = new Promise<void>((resolve) => (tell = resolve))
  await one.watch(line, null, () => tell())
  await two.enter(entry(line), true)
  await one.watch(line, null, () => undefined)
  await told
})
