import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadEngine } from '../../../src/stores/sqlite/engine.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { Client } from './client.ts'
import { testFolder } from './folder.ts'
import { until } from './until.ts'

// Leases here last 10 minutes, far beyond a test's time-out: whoever gets the lock got it because of the death.
const TTL_MS = 600_000
const path = join(testFolder(), 'locks.db')
const hf: Holdfast = await holdfast(`sqlite:${path}`)
afterAll(() => hf.close())

const lineName = (): string => `death/${randomBytes(4).toString('hex')}`
const strict = (line: string) => hf.mutex(line, { fairness: 'strict', ttlMs: TTL_MS })

async function crowd(line: string): Promise<number> {
  for await (const view of hf.list({ prefix: line })) return view.holders.length + view.waiters.length
  return 0
}

test('a killed holder is noticed by who waits in another process, long before its ttl', async () => {
  const line = lineName()
  const holder = await Client.start(path)
  const token = BigInt((await holder.ask('acquire', line, TTL_MS)) as string)
  const next = strict(line).acquire()
  await until(async () => (await crowd(line)) === 2)
  await holder.kill()
  const held = await next
  expect(held.token).toBeGreaterThan(token)
  await held.release()
})

test('a killed holder is noticed by a try that comes later', async () => {
  const line = lineName()
  const holder = await Client.start(path)
  await holder.ask('acquire', line, TTL_MS)
  expect(await strict(line).tryAcquire()).toBeNull()
  await holder.kill()
  const held = await strict(line).tryAcquire()
  expect(held).not.toBeNull()
  await held?.release()
})

test('a killed waiter does not stand in the way when its turn comes', async () => {
  const line = lineName()
  const first = await strict(line).acquire()
  const doomed = await Client.start(path)
  void doomed.ask('acquire', line, TTL_MS).catch(() => undefined)
  await until(async () => (await crowd(line)) === 2)
  const last = strict(line).acquire()
  await doomed.kill()
  await first.release()
  await (await last).release()
})

test('a process that dies with holds in many lines frees them all', async () => {
  const lines = [lineName(), lineName(), lineName()]
  const holder = await Client.start(path)
  for (const line of lines) await holder.ask('acquire', line, TTL_MS)
  const waiting = lines.map((line) => strict(line).acquire())
  await until(async () => (await crowd(lines[2] ?? '')) === 2)
  await holder.kill()
  for (const held of await Promise.all(waiting)) await held.release()
})

test('a killed holder that nobody has waited for as a child, a zombie, counts as dead', async () => {
  const line = lineName()
  // The shell starts the client and becomes `sleep`, which never reaps.
  const holder = await Client.start(path, ['sh', '-c', '"$@" & exec sleep 600', 'sh'])
  await holder.ask('acquire', line, TTL_MS)
  const next = strict(line).acquire()
  await until(async () => (await crowd(line)) === 2)
  let pid = 0
  for await (const view of hf.list({ prefix: line })) pid = view.holders[0]?.pid ?? 0
  process.kill(pid, 'SIGKILL')
  await (await next).release()
})

test('a dead holder whose number a living process has by now counts as dead', async () => {
  const line = lineName()
  const holder = await Client.start(path)
  await holder.ask('acquire', line, TTL_MS)
  await holder.kill()
  // As if the kernel had come round to that number again, and given it to this process.
  const engine = (await loadEngine(undefined))(path)
  const { changes } = engine
    .prepare('UPDATE process SET pid = ? WHERE pid = ?')
    .run(process.pid, holder.process.pid ?? 0)
  engine.close()
  expect(Number(changes)).toBe(1)
  // A driver of its own, that has not seen the row before.
  const fresh = await holdfast(`sqlite:${path}`)
  const held = await fresh.mutex(line, { ttlMs: TTL_MS }).tryAcquire()
  expect(held).not.toBeNull()
  await held?.release()
  await fresh.close()
})

test('a stopped holder is alive', async () => {
  const line = lineName()
  const holder = await Client.start(path)
  await holder.ask('acquire', line, TTL_MS)
  holder.process.kill('SIGSTOP')
  await expect(strict(line).acquire({ waitMs: 1_500 })).rejects.toMatchObject({ code: 'HF_TIMEOUT' })
  holder.process.kill('SIGCONT')
  await holder.ask('release', line)
  await (await strict(line).acquire()).release()
})

test('a holder that exits right after its release does not leave the next one waiting', async () => {
  const line = lineName()
  for (let i = 0; i < 3; i++) {
    const holder = await Client.start(path)
    await holder.ask('acquire', line, TTL_MS)
    const next = strict(line).acquire()
    await until(async () => (await crowd(line)) === 2)
    const released = holder.ask('release', line)
    await released
    holder.process.kill('SIGKILL')
    await (await next).release()
  }
})

test('what was left with a delay stays for that long, though its process is dead', async () => {
  const line = lineName()
  const lingering = await Client.start(path)
  const lingerMs = 4_000
  const leftAt = performance.now()
  const token = BigInt((await lingering.ask('linger', line, lingerMs)) as string)
  await lingering.kill()
  expect(await strict(line).tryAcquire()).toBeNull()
  const held = await strict(line).acquire()
  expect(performance.now() - leftAt).toBeGreaterThanOrEqual(lingerMs)
  expect(held.token).toBeGreaterThan(token)
  await held.release()
})
