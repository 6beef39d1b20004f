import { expect, onTestFinished, test } from 'vitest'
import { EtcdError } from '../../../src/clients/etcd/index.ts'
import { LeaseGrantResponse } from '../../../src/clients/etcd/messages/lease.ts'
import { etcd } from '../../../src/stores/etcd/index.ts'
import { answer, framed, refuse, rejection, startPeer } from '../../clients/etcd/peer.ts'

const granted = framed(LeaseGrantResponse, { id: 1n, ttlS: 2 })

test('a store is opened while its members vote, lose connections, or say nothing: it is asked again', async () => {
  const mute = await startPeer(() => {})
  const peer = await startPeer((stream, _headers, call) => {
    if (call === 1) refuse(stream, 14, 'etcdserver: no leader')
    else if (call === 2) stream.session?.destroy()
    else answer(stream, [granted])
  })
  for (const endpoints of [[peer.endpoint], [mute.endpoint, peer.endpoint]]) {
    const store = await etcd({ endpoints, timeoutMs: 5_000 })
    onTestFinished(() => store.close())
    expect(store.traits.ttlMsMin).toBe(2_000)
  }
})

test('a refusal is told at once', async () => {
  const peer = await startPeer((stream) => refuse(stream, 8, 'etcdserver: mvcc: database space exceeded'))
  const error = await rejection(etcd({ endpoints: [peer.endpoint] }))
  expect(error).toBeInstanceOf(EtcdError)
  expect(error.message).toContain('space exceeded')
  expect(peer.calls.length).toBe(1)
})
