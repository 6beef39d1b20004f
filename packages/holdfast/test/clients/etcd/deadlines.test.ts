import { once } from 'node:events'
import { constants, createServer, type ServerHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { ClosedError } from '../../../src/contract/errors.ts'
import { EtcdUnreachableError } from '../../../src/clients/etcd/index.ts'
import { PutResponse, RangeResponse } from '../../../src/clients/etcd/messages/kv.ts'
import { WatchResponse } from '../../../src/clients/etcd/messages/watch.ts'
import { blockFor } from '../../blocked.ts'
import { answer, clientOf, deadEndpoint, deferred, framed, type Peer, rejection, startPeer, startTcp } from './peer.ts'

const key = Buffer.from('k')
const putReply = framed(PutResponse, {})
const rangeReply = framed(RangeResponse, { count: 7 })

test('a call that nobody answers ends at its deadline, and the member is told', async () => {
  const timeouts: unknown[] = []
  const cancelled = deferred<number>()
  const peer = await startPeer((stream, headers) => {
    timeouts.push(headers['grpc-timeout'])
    stream.on('close', () => cancelled.resolve(stream.rstCode))
  })
  const error = await rejection(clientOf(peer.endpoint).put({ key }, { timeoutMs: 120 }))
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  expect(error).toMatchObject({ statusName: 'DEADLINE_EXCEEDED', mayHaveApplied: true })
  expect(timeouts).toEqual([expect.stringMatching(/^\d{2,3}m$/)])
  expect(await cancelled.promise).toBe(constants.NGHTTP2_CANCEL)
})

test('nobody listens: the reason is told by the deadline, and nothing was sent', async () => {
  const endpoints = [await deadEndpoint(), await deadEndpoint()]
  const error = await rejection(clientOf(endpoints).put({ key }, { timeoutMs: 200 }))
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  expect(error).toMatchObject({ mayHaveApplied: false })
  for (const endpoint of endpoints) expect(error.message).toContain(endpoint)
  expect(error.message).toContain('ECONNREFUSED')
})

test('no server to log in at: the reason is told by the deadline of the call, before that of the login', async () => {
  const endpoint = await deadEndpoint()
  const client = clientOf(endpoint, { user: 'me', password: 'secret', timeoutMs: 2_000 })
  const error = await rejection(client.put({ key }, { timeoutMs: 100 }))
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  expect(error).toMatchObject({ mayHaveApplied: false })
  expect(error.message).toContain(endpoint)
  expect(error.message).not.toContain('secret')
})

test('a member that comes back within the deadline serves the call that waited for it', async () => {
  const endpoint = await deadEndpoint()
  const client = clientOf(endpoint)
  const waiting = client.put({ key })
  const server = createServer()
  server.on('stream', (stream: ServerHttp2Stream) => answer(stream, [putReply]))
  server.listen(Number(new URL(endpoint).port), '127.0.0.1')
  expect((await waiting).header.revision).toBe(0n)
  await client.close()
  server.close()
  await once(server, 'close')
})

test('a dead endpoint and one that accepts but never speaks are passed over', async () => {
  const mute = await startTcp(() => {})
  const peer = await startPeer((stream) => answer(stream, [putReply]))
  const client = clientOf([mute, await deadEndpoint(), peer.endpoint], { timeoutMs: 10_000 })
  await client.put({ key })
  expect(peer.calls.length).toBe(1)
})

test('a hanging member: the write is not repeated elsewhere, the next call goes to another member', async () => {
  const hanging = await startPeer(() => {})
  const good = await startPeer((stream) => answer(stream, [putReply]))
  const client = clientOf([hanging.endpoint, good.endpoint])
  expect(await rejection(client.put({ key }, { timeoutMs: 150 }))).toMatchObject({ mayHaveApplied: true })
  expect(good.calls).toEqual([])
  await client.put({ key })
  expect(good.calls.length).toBe(1)
  expect(hanging.calls.length).toBe(1)
})

test('a hanging member: a read leaves itself time for another member', async () => {
  const hanging = await startPeer(() => {})
  const good = await startPeer((stream) => answer(stream, [rangeReply]))
  const client = clientOf([hanging.endpoint, good.endpoint], { timeoutMs: 3_000 })
  expect((await client.range({ key })).count).toBe(7)
  expect([hanging.calls.length, good.calls.length]).toEqual([1, 1])
})

test('a transaction of reads is repeated, one with a write is not', async () => {
  const peer = await startPeer((stream, _headers, call) => {
    if (call % 2 === 1) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    else answer(stream, [framed(PutResponse, {})])
  })
  const client = clientOf(peer.endpoint)
  await client.txn({ success: [{ range: { key } }] })
  expect(peer.calls.length).toBe(2)
  await rejection(client.txn({ success: [{ range: { key } }], failure: [{ put: { key } }] }))
  expect(peer.calls.length).toBe(3)
})

test('a connection that has gone silent is noticed long before the deadline', async () => {
  let silent = false
  const peer = await startPeer((stream, _headers, call) => {
    if (call === 1) return answer(stream, [putReply])
    silent = true
  })
  const hole = await startTcp((socket) => {
    const upstream = connect(Number(new URL(peer.endpoint).port), '127.0.0.1')
    upstream.on('error', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
    socket.on('data', (chunk) => silent || upstream.write(chunk))
    upstream.on('data', (chunk) => silent || socket.write(chunk))
  })
  const client = clientOf(hole, { probeIntervalMs: 50, probeWaitMs: 50 })
  await client.put({ key })
  const error = await rejection(client.put({ key }, { timeoutMs: 86_400_000 }))
  expect(error).toMatchObject({ statusName: 'UNAVAILABLE', mayHaveApplied: true })
  expect((error.cause as Error).message).toContain('silent for')
})

/** A peer behind a gate that keeps what the peer says until it is let through, which is done before `let()` returns. */
async function gated(peer: Peer): Promise<{ endpoint: string; shut(): Promise<void>; let(): void }> {
  let kept: Buffer[] | null = null
  let came = deferred<void>()
  let through: (bytes: Buffer) => void = () => undefined
  const endpoint = await startTcp((socket) => {
    const upstream = connect(Number(new URL(peer.endpoint).port), '127.0.0.1')
    onTestFinished(() => void upstream.destroy())
    upstream.on('error', () => socket.destroy())
    through = (bytes) => void socket.write(bytes)
    socket.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk) => {
      if (kept === null) return through(chunk)
      kept.push(chunk)
      came.resolve()
    })
  })
  return {
    endpoint,
    shut() {
      kept = []
      came = deferred()
      return came.promise
    },
    let() {
      through(Buffer.concat(kept ?? []))
      kept = null
    },
  }
}

test('an answer that waits in the socket counts, although the timer is due', async () => {
  const peer = await startPeer((stream, headers) => {
    const created = headers[':path'] === '/etcdserverpb.Watch/Watch'
    if (!created) return answer(stream, [putReply])
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
    stream.write(framed(WatchResponse, { created: true }))
  })
  const gate = await gated(peer)
  const client = clientOf(gate.endpoint)
  await client.put({ key })
  for (const call of [
    () => client.put({ key }, { timeoutMs: 1_000 }),
    () => client.watch(key, { timeoutMs: 1_000 }, { onEvents: () => undefined, onEnd: () => undefined }),
  ]) {
    const came = gate.shut()
    const settled = call()
    await came
    gate.let()
    blockFor(1_200)
    await settled
  }
})

test('a member that answers probes may take its time', async () => {
  const held = deferred<ServerHttp2Stream>()
  const peer = await startPeer((stream) => held.resolve(stream))
  const probed = deferred<void>()
  let probes = 0
  peer.onProbe = () => ++probes === 5 && probed.resolve()
  const client = clientOf(peer.endpoint, { probeIntervalMs: 20, probeWaitMs: 10_000 })
  const put = client.put({ key })
  const stream = await held.promise
  await probed.promise
  answer(stream, [putReply])
  await put
})

test('close lets pending calls finish, refuses new ones, and ends those that wait for a connection', async () => {
  const held = deferred<ServerHttp2Stream>()
  const peer = await startPeer((stream) => held.resolve(stream))
  const client = clientOf(peer.endpoint)
  const pending = client.put({ key })
  const stream = await held.promise
  const closed = client.close()
  expect(await rejection(client.put({ key }))).toBeInstanceOf(ClosedError)
  answer(stream, [putReply])
  await pending
  await closed
  await client.close()

  const lost = clientOf(await deadEndpoint())
  const waiting = rejection(lost.put({ key }))
  await new Promise(setImmediate)
  await lost.close()
  expect(await waiting).toBeInstanceOf(ClosedError)
})
