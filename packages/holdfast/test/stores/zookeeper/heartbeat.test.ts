/** How far a place is believed in, by what the leader is sure to know of its session. */
import { expect, test } from 'vitest'
import type { ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { believableMs } from '../../../src/stores/zookeeper/contacts.ts'
import { SessionHeartbeat } from '../../../src/stores/zookeeper/heartbeat.ts'

const SESSION_MS = 1_600
const at = (monoMs: number): { monoMs: number; wallMs: number } => ({ monoMs, wallMs: 1_000_000 + monoMs })
const entry = { line: 'l', id: '0'.repeat(32), weight: 1, capacity: 1, ttlMs: believableMs(SESSION_MS), data: '{}' }

function pulseOf(connectedAt: number): SessionHeartbeat {
  const session = { id: 1n, negotiatedMs: SESSION_MS, lastAnsweredSentAt: connectedAt }
  const heartbeat = new SessionHeartbeat({ session, state: 'connected' } as unknown as ZooKeeperClient, {
    now: () => 0,
    wallNow: () => 0,
  })
  heartbeat.connected()
  heartbeat.stop()
  return heartbeat
}

test('with regular contacts a place is believed in from the request that was answered', () => {
  const heartbeat = pulseOf(0)
  for (let t = 0; t <= 2_000; t += 200) heartbeat.answered(at(t))
  expect(heartbeat.since(at(2_000), entry, SESSION_MS)).toEqual(at(2_000))
})

test('after a silence only what the leader was told before it counts: the place is believed in for less', () => {
  const heartbeat = pulseOf(0)
  heartbeat.answered(at(200))
  // The process was blocked; its server has not yet told the leader of what it asks now.
  heartbeat.answered(at(1_000))
  heartbeat.answered(at(1_030))
  const { monoMs, wallMs } = heartbeat.since(at(1_030), entry, SESSION_MS)
  expect(monoMs + entry.ttlMs).toBeLessThanOrEqual(200 + SESSION_MS)
  expect(wallMs - monoMs).toBe(1_000_000)
})
