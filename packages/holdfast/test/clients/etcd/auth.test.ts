import { expect, test } from 'vitest'
import { EtcdError } from '../../../src/clients/etcd/index.ts'
import { PutResponse } from '../../../src/clients/etcd/messages/kv.ts'
import { AuthenticateRequest, AuthenticateResponse } from '../../../src/clients/etcd/messages/server.ts'
import { answer, clientOf, framed, refuse, rejection, startPeer } from './peer.ts'

const key = Buffer.from('k')
const putReply = framed(PutResponse, {})
const login = { user: 'ann', password: 'tr0ub4dor' }

test('one login serves many calls; a refused token is renewed once for all of them', async () => {
  let valid = 0
  const logins: unknown[] = []
  const peer = await startPeer((stream, headers) => {
    if (headers[':path'] === '/etcdserverpb.Auth/Authenticate') {
      expect(headers.token).toBeUndefined()
      stream.on('data', (chunk: Buffer) => logins.push(AuthenticateRequest.decode(chunk.subarray(5))))
      stream.on('end', () => answer(stream, [framed(AuthenticateResponse, { token: `token-${++valid}` })]))
    } else if (headers.token === `token-${valid}`) answer(stream, [putReply])
    else refuse(stream, 16, 'etcdserver: invalid auth token')
  })
  const client = clientOf(peer.endpoint, login)
  await Promise.all(Array.from({ length: 20 }, () => client.put({ key })))
  expect(logins).toEqual([{ name: 'ann', password: 'tr0ub4dor' }])
  valid = 10 // the server has forgotten token-1
  await Promise.all(Array.from({ length: 20 }, () => client.put({ key })))
  expect(logins.length).toBe(2)
  expect(peer.count('Put')).toBe(60)
})

test.each([
  [3, 'etcdserver: revision of auth store is old'],
  [3, 'etcdserver: user name is empty'],
  [16, 'etcdserver: invalid auth token'],
])('refused with %i, %s: renewed and sent again, once', async (status, text) => {
  const peer = await startPeer((stream, headers) => {
    if (headers[':path'] === '/etcdserverpb.Auth/Authenticate') {
      answer(stream, [framed(AuthenticateResponse, { token: 'again' })])
    } else refuse(stream, status, text)
  })
  const error = await rejection(clientOf(peer.endpoint, login).put({ key }))
  expect(error).toBeInstanceOf(EtcdError)
  expect(error).toMatchObject({ status, mayHaveApplied: false })
  expect([peer.count('Authenticate'), peer.count('Put')]).toEqual([2, 2])
})

test('without credentials nothing is renewed', async () => {
  const peer = await startPeer((stream) => refuse(stream, 16, 'etcdserver: invalid auth token'))
  expect(await rejection(clientOf(peer.endpoint).put({ key }))).toMatchObject({ statusName: 'UNAUTHENTICATED' })
  expect(peer.calls.length).toBe(1)
})

test('authentication turned off: the call goes without a token', async () => {
  const peer = await startPeer((stream, headers) => {
    if (headers[':path'] !== '/etcdserverpb.Auth/Authenticate') return answer(stream, [putReply])
    refuse(stream, 9, 'etcdserver: authentication is not enabled')
  })
  const client = clientOf(peer.endpoint, login)
  await client.put({ key })
  await client.put({ key })
  expect([peer.count('Authenticate'), peer.count('Put')]).toEqual([1, 2])
})

test('a wrong password is told without repeating it', async () => {
  const text = 'etcdserver: authentication failed, invalid user ID or password'
  const peer = await startPeer((stream) => refuse(stream, 3, text))
  const error = await rejection(clientOf(peer.endpoint, login).put({ key }))
  expect(error.message).toContain(text)
  expect(JSON.stringify([error, error.message, error.stack, error.cause ?? null])).not.toContain(login.password)
  expect(peer.calls).toEqual(['/etcdserverpb.Auth/Authenticate'])
})
