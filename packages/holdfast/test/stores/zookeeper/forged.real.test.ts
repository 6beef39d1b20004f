/** One answer was changed on the way, and the one who did it has gone: all is as before, within a session or two. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Holdfast } from '../../../src/holdfast.ts'
import { Forger } from './forger.ts'
import { PATIENCE_MS, Rig } from './rig.ts'

const TTL_MS = 2_000
/** In a grant: behind the protocol version, and behind the session time. */
const [SESSION_MS_AT, SESSION_ID_AT] = [4, 8]
/** In an answer, behind the xid. */
const ZXID_AT = 4
const FUTURE = 2n ** 62n

let rig: Rig
let forger: Forger

beforeAll(async () => {
  rig = await Rig.open(1, { tickMs: 200 })
})
afterAll(() => rig?.[Symbol.asyncDispose]())

beforeEach(async () => {
  forger = await Forger.to(rig.servers[0]?.port ?? 0)
})
afterEach(async () => {
  await rig.clear()
  await forger[Symbol.asyncDispose]()
})

const victim = (): Promise<Holdfast> => rig.holdfast({ servers: [forger.address] }, { ttlMs: TTL_MS })
const rival = (): Promise<Holdfast> => rig.holdfast({}, { ttlMs: TTL_MS })

/** Typed errors may come until then; who gets no lock at all within `PATIENCE_MS` never comes back. */
async function gets(hf: Holdfast, name: string): Promise<void> {
  await expect
    .poll(
      () =>
        hf
          .mutex(name)
          .using(() => 'held', { waitMs: 2_000 })
          .catch(String),
      { timeout: PATIENCE_MS },
    )
    .toBe('held')
}

function fromTheFuture(frame: Buffer): boolean {
  frame.writeBigInt64BE(FUTURE, ZXID_AT)
  return true
}

test('a transaction number from the future: servers refuse the session, and take the next one', async () => {
  const hf = await victim()
  await gets(hf, 'before')
  forger.answers(fromTheFuture)
  await gets(hf, 'meanwhile')
  forger.cut()
  await gets(hf, 'after')
}, 90_000)

test('and a session time of 24 days with it', async () => {
  const hf = await victim()
  forger.grants((frame) => {
    frame.writeInt32BE(2 ** 31 - 1, SESSION_MS_AT)
    return true
  })
  forger.answers(fromTheFuture)
  await gets(hf, 'meanwhile-too')
  forger.cut()
  await gets(hf, 'after-too')
}, 90_000)

test('another session id: whoever waits gets the lock, and what could not be held is left to nobody', async () => {
  const [hf, other] = await Promise.all([victim(), rival()])
  forger.grants((frame) => {
    frame.writeBigInt64BE(77n, SESSION_ID_AT)
    return true
  })
  const held = await other.mutex('contended').acquire()
  // Behind somebody else, a place is known by the session that its node belongs to.
  const waiting = hf
    .mutex('contended')
    .using(() => 'held', { waitMs: 3_000 })
    .catch(String)
  await held.release()
  await waiting
  await gets(other, 'contended')
  await gets(hf, 'contended')
}, 90_000)

test('another number in the name of a new place: nobody waits behind it for ever', async () => {
  const [hf, other] = await Promise.all([victim(), rival()])
  await gets(hf, 'numbered')
  let isForged = false
  forger.answers((frame) => {
    const at = frame.indexOf('-1-1-0')
    if (at === -1) return false
    frame.write('9', at + '-1-1-'.length)
    isForged = true
    return true
  })
  await hf
    .mutex('numbered')
    .using(() => 'held', { waitMs: 2_000 })
    .catch(String)
  expect(isForged).toBe(true)
  // Its session lives on, and keeps what stands by it.
  await gets(other, 'numbered')
  await gets(hf, 'numbered')
}, 90_000)

test('the name of another node in place of that of a new place: the same', async () => {
  const [hf, other] = await Promise.all([victim(), rival()])
  await gets(hf, 'named')
  let isForged = false
  forger.answers((frame) => {
    const at = frame.indexOf('/p-')
    if (at === -1) return false
    frame.write('q', at + 1)
    isForged = true
    return true
  })
  await hf
    .mutex('named')
    .using(() => 'held', { waitMs: 2_000 })
    .catch(String)
  expect(isForged).toBe(true)
  await gets(other, 'named')
  await gets(hf, 'named')
}, 90_000)
