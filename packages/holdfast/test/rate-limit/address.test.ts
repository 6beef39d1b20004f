/** Whom the default key limits. */
import { createServer, type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { holdfast, UsageError } from '../../src/index.ts'
import { fastifyRateLimit, fetchRateLimit, type NodeMiddleware, rateLimit } from '../../src/rate-limit/index.ts'
import { network } from '../../src/rate-limit/address.ts'

test.each([
  ['203.0.113.7', 64, '203.0.113.7'],
  ['::ffff:203.0.113.7', 64, '203.0.113.7'],
  ['::ffff:cb00:7107', 64, '203.0.113.7'],
  ['0:0:0:0:0:FFFF:203.0.113.7', 64, '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2:0:0:0:0/64'],
  ['2001:DB8:1:2::', 64, '2001:db8:1:2:0:0:0:0/64'],
  ['2001:db8:1:2ff::1', 56, '2001:db8:1:200:0:0:0:0/56'],
  ['2001:db8:1:2::1', 128, '2001:db8:1:2:0:0:0:1'],
  ['2001:db8:1:2::1', 1, '0:0:0:0:0:0:0:0/1'],
  ['::1', 64, '0:0:0:0:0:0:0:0/64'],
  ['fe80::1%eth0', 64, 'fe80:0:0:0:0:0:0:0/64'],
  ['unknown', 64, 'unknown'],
])('%s by %i bits is %s', (address, bits, expected) => {
  expect(network(address, bits)).toBe(expected)
})

test('a thousand addresses of one /64 have one limit, and so has an IPv4 address in both of its forms', async () => {
  await using hf = await holdfast('memory:')
  const limiter = hf.limiter('api', { limit: 2, perMs: 60_000 })
  const ask = (remoteAddress: string, limited: NodeMiddleware<IncomingMessage>): Promise<boolean> => {
    const answer = { setHeader: () => undefined, end: () => undefined, statusCode: 200 }
    return limited({ socket: { remoteAddress } } as never, answer as never)
  }
  const limited = rateLimit(limiter)
  let passed = 0
  for (let i = 0; i < 1_000; i++) if (await ask(`2001:db8:1:2:${i.toString(16)}::1`, limited)) passed++
  expect(passed).toBe(2)
  expect(await ask('2001:db8:1:3::1', limited)).toBe(true)
  expect(await ask('203.0.113.7', limited)).toBe(true)
  expect(await ask('::ffff:203.0.113.7', limited)).toBe(true)
  expect(await ask('203.0.113.7', limited)).toBe(false)
  const each = rateLimit(hf.limiter('each', { limit: 1, perMs: 60_000 }), { ipv6Bits: 128 })
  expect([await ask('2001:db8::1', each), await ask('2001:db8::2', each), await ask('2001:db8::1', each)]).toEqual([
    true,
    true,
    false,
  ])
  const replied: number[] = []
  const reply = { code: (status: number) => replied.push(status), header: () => undefined, send: () => undefined }
  const hook = fastifyRateLimit(hf.limiter('f', { limit: 1, perMs: 60_000 }))
  for (const ip of ['2001:db8::1', '2001:db8::2']) await hook({ ip }, reply)
  expect(replied).toEqual([429])
  for (const ipv6Bits of [0, 129, 1.5, '64']) {
    expect(() => rateLimit(limiter, { ipv6Bits: ipv6Bits as number })).toThrow(UsageError)
  }
})

test('an error of fetch is passed on as it is', async () => {
  await using hf = await holdfast('memory:')
  const options = { key: () => 'k' }
  const limited = fetchRateLimit(hf.limiter('api', { limit: 1, perMs: 60_000 }), () => Response.error(), options)
  const response = await limited(new Request('http://127.0.0.1/'))
  expect([response.type, response.status]).toEqual(['error', 0])
  expect((await limited(new Request('http://127.0.0.1/'))).status).toBe(429)
})

test('a shut key says when it is open again', async () => {
  await using hf = await holdfast('memory:')
  const options = { limit: 1_000, perMs: 1_000, burst: 1, penalty: { after: 1, shutMs: 60_000 } }
  const limited = rateLimit(hf.limiter('api', options), { key: () => 'k' })
  const server = createServer((request, response) => void limited(request, response, () => response.end()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as { port: number }
    let refused = await fetch(`http://127.0.0.1:${port}/`)
    while (Number(refused.headers.get('retry-after')) < 10) refused = await fetch(`http://127.0.0.1:${port}/`)
    const left = /^"api";r=0;t=(\d+)$/.exec(String(refused.headers.get('ratelimit')))?.[1]
    expect(left).toBe(refused.headers.get('retry-after'))
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
