import { connect } from 'node:net'
import { constants } from 'node:http2'
import { expect, test } from 'vitest'
import { EtcdError, EtcdProtocolError, EtcdUnreachableError } from '../../../src/clients/etcd/index.ts'
import { PutResponse, RangeResponse } from '../../../src/clients/etcd/messages/kv.ts'
import { answer, clientOf, framed, refuse, rejection, startPeer, startTcp } from './peer.ts'

const key = Buffer.from('k')
const header = { clusterId: 1n, memberId: 2n, revision: 2n ** 60n, raftTerm: 3n }
const kvs = [{ key, createRevision: 5n, modRevision: 6n, version: 1n, value: Buffer.alloc(40, 7), lease: 2n ** 62n }]
const reply = framed(RangeResponse, { header, kvs, count: 1 })
const putReply = framed(PutResponse, { header })

test('a reply split at every byte of its frame is put together', async () => {
  const peer = await startPeer((stream, _headers, call) => {
    answer(
      stream,
      [reply.subarray(0, call - 1), reply.subarray(call - 1)].filter((piece) => piece.length > 0),
    )
  })
  const client = clientOf(peer.endpoint)
  for (let at = 0; at <= reply.length; at++) {
    expect(await client.range({ key })).toEqual({ header, kvs, more: false, count: 1 })
  }
})

test('a connection that delivers one byte at a time works', async () => {
  const peer = await startPeer((stream) => answer(stream, [reply]))
  const slow = await startTcp((socket) => {
    socket.setNoDelay(true)
    const upstream = connect(Number(new URL(peer.endpoint).port), '127.0.0.1')
    upstream.on('error', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
    socket.pipe(upstream)
    upstream.on('data', (chunk) => {
      for (const byte of chunk) socket.write(Buffer.of(byte))
    })
  })
  expect((await clientOf(slow).range({ key })).header.revision).toBe(2n ** 60n)
})

test.each([
  [constants.NGHTTP2_INTERNAL_ERROR, true],
  [constants.NGHTTP2_CANCEL, true],
  [constants.NGHTTP2_NO_ERROR, true],
  [constants.NGHTTP2_REFUSED_STREAM, false],
])('RST_STREAM %i: a write is rejected, not sent again; may have been applied: %s', async (code, mayHaveApplied) => {
  const peer = await startPeer((stream) => stream.close(code))
  const error = await rejection(clientOf(peer.endpoint).put({ key }))
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  expect(error).toMatchObject({ code: 'HF_UNREACHABLE', status: 14, statusName: 'UNAVAILABLE', mayHaveApplied })
  expect(peer.calls).toEqual(['/etcdserverpb.KV/Put'])
})

test('RST_STREAM: a read is repeated', async () => {
  const peer = await startPeer((stream, _headers, call) => {
    if (call < 4) stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    else answer(stream, [reply])
  })
  expect((await clientOf(peer.endpoint).range({ key })).count).toBe(1)
  expect(peer.count('Range')).toBe(4)
})

test('GOAWAY that leaves the call out: certainly not applied, and the next call opens a new connection', async () => {
  const peer = await startPeer((stream, _headers, call) => {
    if (call !== 2) return answer(stream, [putReply])
    stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 1)
  })
  const client = clientOf(peer.endpoint)
  await client.put({ key })
  expect(await rejection(client.put({ key }))).toMatchObject({ mayHaveApplied: false })
  expect((await client.put({ key })).header.revision).toBe(2n ** 60n)
  expect(peer.sessions.length).toBe(2)
})

test('GOAWAY that lets the call finish: it does, and the next call opens a new connection', async () => {
  const peer = await startPeer((stream) => {
    stream.session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id)
    answer(stream, [putReply])
  })
  const client = clientOf(peer.endpoint)
  await client.put({ key })
  await client.put({ key })
  expect(peer.calls.length).toBe(2)
})

test('GOAWAY with an error: pending calls are rejected, outcome unknown', async () => {
  const peer = await startPeer((stream) => {
    stream.session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, stream.id, Buffer.from('too_many_pings'))
  })
  expect(await rejection(clientOf(peer.endpoint).put({ key }))).toMatchObject({ mayHaveApplied: true })
})

test.each([
  [3, 'INVALID_ARGUMENT', EtcdError, false],
  [5, 'NOT_FOUND', EtcdError, false],
  [7, 'PERMISSION_DENIED', EtcdError, false],
  [8, 'RESOURCE_EXHAUSTED', EtcdError, false],
  [2, 'UNKNOWN', EtcdError, true],
  [13, 'INTERNAL', EtcdError, true],
  [14, 'UNAVAILABLE', EtcdUnreachableError, true],
  [4, 'DEADLINE_EXCEEDED', EtcdUnreachableError, true],
  [99, 'STATUS_99', EtcdError, true],
])('status %i (%s), with and without a body before it', async (status, statusName, Class, mayHaveApplied) => {
  const peer = await startPeer((stream, _headers, call) => {
    if (call === 1) refuse(stream, status, 'etcdserver: na%C3%AFve 100%25 %zz')
    else answer(stream, [putReply], status, 'after the body')
  })
  const client = clientOf(peer.endpoint)
  const bare = await rejection(client.put({ key }))
  expect(bare).toBeInstanceOf(Class)
  expect(bare).toMatchObject({ status, statusName, mayHaveApplied })
  expect(bare.message).toContain('etcdserver: naïve 100% %zz')
  const late = await rejection(client.put({ key }))
  expect(late).toBeInstanceOf(Class)
  expect(late.message).toContain('after the body')
})

test('a reply that ends inside a message is a protocol error, whatever its status says', async () => {
  const peer = await startPeer((stream) => answer(stream, [reply.subarray(0, 20)]))
  expect(await rejection(clientOf(peer.endpoint).put({ key }))).toBeInstanceOf(EtcdProtocolError)
})

test('half a message, then the connection closes: outcome unknown', async () => {
  const peer = await startPeer((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
    stream.write(putReply.subarray(0, 7), () => stream.session?.destroy())
  })
  const error = await rejection(clientOf(peer.endpoint).put({ key }))
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  expect(error).toMatchObject({ mayHaveApplied: true })
})

test('no message, a compressed one, garbage: each a protocol error', async () => {
  const peer = await startPeer((stream, _headers, call) => {
    if (call === 1) answer(stream, [])
    else if (call === 2) answer(stream, [Buffer.from([1, 0, 0, 0, 0])])
    else if (call === 3) answer(stream, [Buffer.from([0, 0xff, 0xff, 0xff, 0xff])])
    else answer(stream, [Buffer.from([0, 0, 0, 0, 2, 0x0a, 9])])
  })
  const client = clientOf(peer.endpoint)
  for (let call = 1; call <= 4; call++) {
    const error = await rejection(client.put({ key }))
    expect(error).toBeInstanceOf(EtcdProtocolError)
    expect(error).toMatchObject({ mayHaveApplied: true })
  }
})

test('something that is not gRPC answers: a web page, a proxy without a backend', async () => {
  const peer = await startPeer((stream, _headers, call) => {
    stream.respond({ ':status': call === 1 ? 200 : 503, 'content-type': 'text/html' })
    stream.end('<html>')
  })
  const client = clientOf(peer.endpoint)
  expect(await rejection(client.put({ key }))).toMatchObject({ statusName: 'UNKNOWN' })
  expect(await rejection(client.put({ key }))).toMatchObject({ statusName: 'UNAVAILABLE' })
})
