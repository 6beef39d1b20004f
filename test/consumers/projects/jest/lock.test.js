const { holdfast, UsageError, AcquireTimeoutError } = require('holdfast')
const { memory } = require('holdfast/memory')

test('a lock, its errors and its waiters', async () => {
  const hf = await holdfast(memory())
  const held = await hf.mutex('stock').acquire()
  await expect(hf.mutex('stock', { reentrant: false }).acquire({ waitMs: 10 })).rejects.toBeInstanceOf(
    AcquireTimeoutError,
  )
  await held.release()
  expect(await hf.mutex('stock').using(async () => 7)).toBe(7)
  await hf.close()
})

test('bad input, and a URL of a server that is not there', async () => {
  await expect(holdfast({})).rejects.toThrow(UsageError)
  await expect(holdfast('redis://127.0.0.1:1', { connectTimeoutMs: 500 })).rejects.toMatchObject({
    code: 'HF_UNREACHABLE',
  })
})

test('a client package that is not installed', async () => {
  await expect(holdfast('mysql://127.0.0.1:1/none')).rejects.toMatchObject({ code: 'HF_MISSING_CLIENT' })
})

test('Redis by URL and by client', async () => {
  const { Redis } = require('ioredis')
  const client = new Redis(process.env.HOLDFAST_TEST_REDIS)
  const [a, b] = await Promise.all([holdfast(process.env.HOLDFAST_TEST_REDIS), holdfast(client)])
  const held = await a.mutex('jest').acquire()
  const next = b.mutex('jest').using(async ({ token }) => token)
  await held.release()
  expect(await next).toBeGreaterThan(held.token)
  await Promise.all([a.close(), b.close()])
  client.disconnect()
})
