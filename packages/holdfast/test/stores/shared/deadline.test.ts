/** No answer in time: judged in one place, after the sockets were read. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { StoreUnreachableError } from '../../../src/contract/errors.ts'
import { Deadline, within } from '../../../src/stores/shared/deadline.ts'
import { answerWithin } from '../../../src/stores/sql/deadline.ts'
import { Watchdog } from '../../../src/stores/sql/watchdog.ts'
import { blockFor } from '../../blocked.ts'

const never = new Promise<never>(() => undefined)
let here: Socket
let there: Socket
let close: () => Promise<unknown>

beforeEach(async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  here = connect((server.address() as AddressInfo).port, '127.0.0.1')
  ;[there] = (await once(server, 'connection')) as [Socket]
  await once(here, 'ready')
  close = () => {
    for (const socket of [here, there]) socket.destroy()
    server.close()
    return once(server, 'close')
  }
})

afterEach(() => close())

/** The answer is in the socket, unread, and this process is blocked until all timers are overdue. */
function answerAndBlock(): void {
  there.write('answer')
  blockFor(300)
}

const answer = async (): Promise<string> => String(((await once(here, 'data')) as [Buffer])[0])

test('an answer that waits in the socket counts, although the timer is due', async () => {
  const late = (): Error => new Error('late')
  const settled = Promise.all([
    within(answer(), performance.now() + 100, late),
    within(answer(), performance.now() + 100, late, true),
    answerWithin(answer(), 100, 'this store'),
  ])
  answerAndBlock()
  expect(await settled).toEqual(['answer', 'answer', 'answer'])
})

test('the watchdog of a connection does not bark while an answer waits in the socket', async () => {
  let barks = 0
  const dog = new Watchdog(100, () => barks++)
  dog.asked()
  const read = answer().then(() => dog.answered())
  answerAndBlock()
  await read
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(barks).toBe(0)
})

test('of two steps the first, read after a block, gives the second its time', async () => {
  let barks = 0
  const barked = new Promise<void>((resolve) => {
    const dog = new Watchdog(2_000, () => {
      barks++
      resolve()
    })
    dog.asked()
    here.once('data', () => dog.heard())
  })
  there.write('the first of two')
  blockFor(2_300)
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
  expect(barks).toBe(0)
  // It owes an answer all the same.
  await barked
})

test('silence is told, and by an error that says so', async () => {
  const at = performance.now() + 50
  await expect(within(never, at, () => new Error('late'))).rejects.toThrow('late')
  expect(performance.now()).toBeGreaterThanOrEqual(at)
  await expect(answerWithin(never, 20, 'this store')).rejects.toThrow(
    new StoreUnreachableError('this store gave no answer within 20 ms'),
  )
  const dog = new Watchdog(20, () => here.destroy())
  dog.asked()
  await once(here, 'close')
})

test('the earliest moment counts, a later one does not move it, and what is cleared is never told', async () => {
  const told: number[] = []
  const begun = performance.now()
  const deadline = new Deadline(() => told.push(performance.now() - begun))
  deadline.keepAlive(true)
  deadline.set(begun + 20_000)
  deadline.set(begun + 50)
  deadline.set(begun + 10_000)
  await expect.poll(() => told).toHaveLength(1)
  expect(told[0]).toBeGreaterThanOrEqual(49)
  deadline.set(performance.now())
  // Cleared between the timer and the reading of the sockets.
  await new Promise<void>((resolve) => {
    setTimeout(() => {
      deadline.clear()
      resolve()
    }, 1)
    blockFor(20)
  })
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(told).toHaveLength(1)
})

test('a deadline of a month is none of this moment', async () => {
  const outcome = within(never, performance.now() + 31 * 86_400_000, () => new Error('late'), true)
  const first = Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, 50, 'still waiting'))])
  expect(await first).toBe('still waiting')
})
