/** What comes out of a store is input: a reply of the wrong shape is a StoreError, whichever call meets it. */
import { afterEach, expect, test } from 'vitest'
import { HoldfastError, StoreError } from '../../../src/contract/errors.ts'
import type { Demand, Entry } from '../../../src/contract/driver.ts'
import {
  readCell,
  readPlace,
  readPlaces,
  readTaken,
  readTogether,
  readView,
} from '../../../src/stores/redis/replies.ts'
import { redis, setNx } from '../../../src/stores/redis/index.ts'
import { greeting, type Peer, startPeer } from '../../clients/redis/peer.ts'

const SINCE = { monoMs: 0, wallMs: 0 }
const entry: Entry = { line: 'line', id: 'f'.repeat(32), weight: 1, capacity: 1, ttlMs: 1_000, data: '{}' }
const demand: Demand = { cost: 1, burst: 1, unit: 1, drain: 1, shutAfter: 0, shutMs: 0 }

const ITEMS = [null, undefined, '', 'x', '-', '1e9', ' 7', 7, -1, -7, 0.5, Number.NaN, 2 ** 60, 10n ** 30n, true, false]
const LISTS = [[], {}, new Map(), new Set([1]), new Error('no'), Symbol('no'), () => 1, [[]], [null], [[null, {}, 'x']]]
const ALL: unknown[] = [
  ...ITEMS,
  ...LISTS,
  ...ITEMS.flatMap((a) => [[a], [1, a], [1, [a]], [1, [[a]], 1], [a, a, a, a, a]]),
]

const READERS: Record<string, (reply: unknown) => unknown> = {
  readPlace: (reply) => readPlace(reply, entry, SINCE),
  readPlaces: (reply) => readPlaces(reply, [entry, entry], SINCE),
  readTogether: (reply) => readTogether(reply, [entry, entry], SINCE),
  readCell,
  readTaken: (reply) => readTaken(reply, demand),
  readView: (reply) => readView('line', reply),
}

test.each(Object.entries(READERS))('%s gives a value or a HoldfastError, whatever it is given', (_, read) => {
  for (const reply of ALL) {
    try {
      read(reply)
    } catch (error) {
      expect(error).toBeInstanceOf(HoldfastError)
    }
  }
})

test('numbers are taken in every form that a client gives them', () => {
  const forms = [
    [7, 0, -1, 0],
    ['7', '0', '-1', '0'],
    [7n, 0n, -1n, 0n],
  ]
  for (const reply of forms)
    expect(readPlace(reply, entry, SINCE)).toMatchObject({ token: 7n, ahead: 0, recheckMs: null })
  expect(readCell(['5', 'nonce', Buffer.from('value')])).toEqual({ version: 5n, nonce: 'nonce', value: 'value' })
})

let peer: Peer | null = null

afterEach(async () => {
  await peer?.stop()
  peer = null
})

const INFO = '+redis_version:7.0.0\r\n'

test.each(['+x\r\n', ':-5\r\n', '*1\r\n$1\r\nx\r\n', '*2\r\n:0\r\n*1\r\n_\r\n', '%0\r\n', '#t\r\n', ',0.5\r\n'])(
  'a server that answers scripts with %j: every call rejects with an error of ours or has an answer',
  async (bytes) => {
    peer = await startPeer(greeting((args) => (args[0] === 'INFO' ? INFO : bytes)))
    const driver = redis(`redis://127.0.0.1:${peer.port}`)
    const classic = setNx(`redis://127.0.0.1:${peer.port}`)
    const calls = [
      driver.enter(entry, true),
      driver.touch([entry]),
      driver.leave(entry),
      driver.swap('key', null),
      driver.break('line', false),
      driver.enterAll([entry]),
      driver.rename(entry, 'e'.repeat(32)),
      driver.reweigh(entry, 1),
      driver.take('key', demand),
      driver.list('')[Symbol.asyncIterator]().next(),
      classic.enter(entry, true),
      classic.touch([entry]),
      classic.break('line', true),
    ]
    for (const end of await Promise.allSettled(calls)) {
      if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(HoldfastError)
    }
    await Promise.all([driver.close(), classic.close()])
  },
)

test('a server that is too old is refused at the first use', async () => {
  peer = await startPeer(greeting((args) => (args[0] === 'INFO' ? '+redis_version:5.0.14\r\n' : ':1\r\n')))
  const driver = redis(`redis://127.0.0.1:${peer.port}`)
  const refused = driver.enter(entry, true)
  await expect(refused).rejects.toThrow('has version 5.0.14')
  await expect(refused).rejects.toBeInstanceOf(StoreError)
  await driver.close()
})
