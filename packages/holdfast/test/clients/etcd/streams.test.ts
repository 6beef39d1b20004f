import type { ServerHttp2Stream } from 'node:http2'
import { expect, test } from 'vitest'
import { ClosedError } from '../../../src/contract/errors.ts'
import { EtcdUnreachableError, EtcdWatchCancelledError, type WatchEvent } from '../../../src/clients/etcd/index.ts'
import type { Message } from '../../../src/clients/etcd/message.ts'
import { LeaseKeepAliveRequest, LeaseKeepAliveResponse } from '../../../src/clients/etcd/messages/lease.ts'
import { WatchRequest, WatchResponse } from '../../../src/clients/etcd/messages/watch.ts'
import { clientOf, deferred, framed, refuse, rejection, startPeer } from './peer.ts'

const key = Buffer.from('k')
const header = { clusterId: 1n, memberId: 1n, revision: 100n, raftTerm: 1n }
const event = (modRevision: bigint): WatchEvent => ({
  type: 'put',
  kv: { key, createRevision: 1n, modRevision, version: 1n, value: Buffer.alloc(0), lease: 0n },
  prevKv: undefined,
})
const quiet = { onEvents: () => {}, onEnd: () => {} }

const tell = (stream: ServerHttp2Stream, part: Partial<WatchResponse>): void => {
  stream.write(framed(WatchResponse, { header, ...part }))
}

/** Opens the reply side of a stream and hands each request to `onRequest`. */
function serve<T extends object>(
  stream: ServerHttp2Stream,
  message: Message<T>,
  onRequest: (request: T) => void,
): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
  let bytes = Buffer.alloc(0)
  stream.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1)
      const request = message.decode(bytes.subarray(5, end))
      bytes = bytes.subarray(end)
      onRequest(request)
    }
  })
}

test('pieces of an answer are told whole; broken off between, it is asked for again from the start', async () => {
  const starts: unknown[] = []
  const peer = await startPeer((stream, headers, call) => {
    expect(headers.hasleader).toBe('true')
    serve(stream, WatchRequest, (request) => {
      starts.push(request.create?.startRevision)
      tell(stream, { watchId: 5n, created: true })
      if (call === 1) {
        tell(stream, { watchId: 5n, events: [event(7n)] })
        tell(stream, { watchId: 5n, events: [event(8n), event(9n)], fragment: true })
        stream.end() // no trailers, no status: broken
      } else {
        tell(stream, { watchId: 5n, events: [event(8n), event(9n)], fragment: true })
        tell(stream, { watchId: 5n, events: [event(9n)], fragment: true })
        tell(stream, { watchId: 5n, events: [event(10n)] })
      }
    })
  })
  const told: bigint[][] = []
  const all = deferred<void>()
  const watcher = await clientOf(peer.endpoint).watch(
    key,
    { startRevision: 7n },
    {
      onEvents: (events) => {
        told.push(events.map((each) => each.kv.modRevision))
        if (told.length === 2) all.resolve()
      },
      onEnd: () => {},
    },
  )
  await all.promise
  expect(told).toEqual([[7n], [8n, 9n, 9n, 10n]])
  expect(starts).toEqual([7n, 8n])
  expect(watcher.nextRevision).toBe(11n)
})

test('confirmations come in order: a refused watcher does not take the place of the next', async () => {
  let asked = 0
  const peer = await startPeer((stream) => {
    serve(stream, WatchRequest, () => {
      asked++
      const refused = { watchId: -1n, canceled: true, cancelReason: 'mvcc: watcher range is empty' }
      const fine = { watchId: BigInt(asked) }
      stream.write(framed(WatchResponse, { header, created: true, ...(asked === 2 ? refused : fine) }))
    })
  })
  const client = clientOf(peer.endpoint)
  const [first, second, third] = await Promise.allSettled([1, 2, 3].map(() => client.watch(key, {}, quiet)))
  expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((second as PromiseRejectedResult).reason).toBeInstanceOf(EtcdWatchCancelledError)
  expect(peer.calls.length).toBe(1)
})

test('not confirmed in time: rejected, and cancelled at the server when the confirmation comes late', async () => {
  const asked = deferred<() => void>()
  const cancelled = deferred<bigint | undefined>()
  const peer = await startPeer((stream) => {
    serve(stream, WatchRequest, (request) => {
      if (request.create)
        asked.resolve(() => stream.write(framed(WatchResponse, { header, watchId: 3n, created: true })))
      if (request.cancel) cancelled.resolve(request.cancel.watchId)
    })
  })
  const error = await rejection(clientOf(peer.endpoint).watch(key, { timeoutMs: 100 }, quiet))
  expect(error).toBeInstanceOf(EtcdUnreachableError)
  const confirm = await asked.promise
  confirm()
  expect(await cancelled.promise).toBe(3n)
})

test('a stream that every member refuses ends its watchers; closing ends the others', async () => {
  const peer = await startPeer((stream, _headers, call) => {
    if (call === 1) return refuse(stream, 12, 'unknown service')
    serve(stream, WatchRequest, () => stream.write(framed(WatchResponse, { header, watchId: 1n, created: true })))
  })
  const client = clientOf(peer.endpoint)
  const error = await rejection(client.watch(key, {}, quiet))
  expect(error).toBeInstanceOf(EtcdWatchCancelledError)
  expect(error.message).toContain('unknown service')
  const ended = deferred<Error>()
  await client.watch(key, {}, { onEvents: () => {}, onEnd: ended.resolve })
  await client.close()
  expect(await ended.promise).toBeInstanceOf(ClosedError)
})

test('keep-alive replies are matched to the requests they answer, per lease and in order', async () => {
  const held: (() => void)[] = []
  const five = deferred<void>()
  const peer = await startPeer((stream) => {
    serve(stream, LeaseKeepAliveRequest, ({ id }) => {
      held.push(() => stream.write(framed(LeaseKeepAliveResponse, { header, id, ttlS: 9 })))
      if (held.length === 5) five.resolve()
    })
  })
  const replies: { id: bigint; sentAtMs: number }[] = []
  const answered = deferred<void>()
  const keepAlive = clientOf(peer.endpoint).keepAlive({
    onReply: ({ id, sentAtMs }) => {
      replies.push({ id, sentAtMs })
      if (replies.length === 5) answered.resolve()
    },
  })
  const sentBefore: number[] = []
  for (const id of [1n, 2n, 2n ** 62n, 1n, 1n]) {
    const count = held.length
    keepAlive.send(id, 60_000)
    sentBefore.push(performance.now())
    while (held.length === count) await new Promise(setImmediate)
  }
  await five.promise
  for (const index of [1, 0, 3, 2, 4]) held[index]?.()
  await answered.promise
  const sent = (id: bigint): number[] => replies.filter((reply) => reply.id === id).map((reply) => reply.sentAtMs)
  expect(sent(1n)).toEqual(sent(1n).toSorted((a, b) => a - b))
  expect(new Set(sent(1n)).size).toBe(3)
  // Each instant lies before the end of its own send call or, for the first, of the opening of the stream.
  expect(sent(1n)[1]).toBeLessThanOrEqual(sentBefore[3] ?? 0)
  expect(sent(1n)[2]).toBeLessThanOrEqual(sentBefore[4] ?? 0)
  expect(sent(1n)[2]).toBeGreaterThan(sentBefore[3] ?? 0)
})

test('an overdue keep-alive is asked again through another member', async () => {
  const hanging = await startPeer((stream) => serve(stream, LeaseKeepAliveRequest, () => {}))
  const good = await startPeer((stream) => {
    serve(stream, LeaseKeepAliveRequest, ({ id }) => {
      stream.write(framed(LeaseKeepAliveResponse, { header, id, ttlS: 3 }))
    })
  })
  const trouble: Error[] = []
  const reply = deferred<{ id: bigint; sentAtMs: number }>()
  const client = clientOf([hanging.endpoint, good.endpoint])
  const keepAlive = client.keepAlive({ onReply: reply.resolve, onTrouble: (error) => trouble.push(error) })
  const firstSentMs = performance.now()
  keepAlive.send(77n, 100)
  const { id, sentAtMs } = await reply.promise
  expect(id).toBe(77n)
  // Validity counts from the second request: the first was never answered.
  expect(sentAtMs - firstSentMs).toBeGreaterThanOrEqual(100)
  expect(trouble[0]).toMatchObject({ statusName: 'DEADLINE_EXCEEDED' })
  keepAlive.close()
  keepAlive.send(78n)
})
