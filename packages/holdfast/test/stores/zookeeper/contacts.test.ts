import { expect, test } from 'vitest'
import { believableMs, cadenceMs, Contacts, sessionMsFor } from '../../../src/stores/zookeeper/contacts.ts'

const SESSION_MS = 1_600

test('with regular contacts the margin is all that is taken off', () => {
  const contacts = new Contacts()
  contacts.connected(0)
  for (let t = 0; t <= 10_000; t += cadenceMs(SESSION_MS)) {
    contacts.answered(t, SESSION_MS)
    expect(contacts.livesUntil(t, SESSION_MS)).toBeGreaterThanOrEqual(t + believableMs(SESSION_MS))
  }
})

test('after a silence only what was told before it counts, however often is asked now', () => {
  const contacts = new Contacts()
  contacts.connected(0)
  contacts.answered(200, SESSION_MS)
  // The process was blocked; then two contacts in a row, which the follower has not yet passed on.
  contacts.answered(1_000, SESSION_MS)
  contacts.answered(1_030, SESSION_MS)
  expect(contacts.livesUntil(1_030, SESSION_MS)).toBe(200 + SESSION_MS)
  contacts.answered(1_300, SESSION_MS)
  expect(contacts.livesUntil(1_300, SESSION_MS)).toBeGreaterThanOrEqual(1_000 + SESSION_MS)
})

test('a server that takes the session on has asked the leader', () => {
  const contacts = new Contacts()
  contacts.connected(5_000)
  expect(contacts.livesUntil(5_010, SESSION_MS)).toBe(5_000 + SESSION_MS)
  expect(contacts.livesUntil(4_000, SESSION_MS), 'asked before, sent after').toBe(4_000 + SESSION_MS)
})

test('the session for a ttl leaves the margin', () => {
  for (const ttlMs of [1, 7, 600, 1_000, 30_000, 86_400_000]) {
    expect(believableMs(sessionMsFor(ttlMs))).toBeGreaterThanOrEqual(ttlMs)
  }
})
