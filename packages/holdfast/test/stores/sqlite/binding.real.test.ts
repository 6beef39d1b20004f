/** A place that is tied to a second process lives while either does. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { Client } from './client.ts'
import { testFolder } from './folder.ts'

const path = join(testFolder(), 'locks.db')
const hf: Holdfast = await holdfast(`sqlite:${path}`)
afterAll(() => hf.close())

const line = (): string => `binding/${randomBytes(4).toString('hex')}`
const strict = (name: string) => hf.mutex(name, { fairness: 'strict' })

async function heldWithCommand(name: string, ttlMs: number): Promise<{ wrapper: Client; pid: number }> {
  const wrapper = await Client.start(path)
  await wrapper.ask('acquire', name, ttlMs)
  const [pid, tied] = (await wrapper.ask('bind', name)) as [number, number]
  expect(tied).toBe(1)
  return { wrapper, pid }
}

test('the wrapper is killed, the command runs on: the place is held past its ttl, until the command ends', async () => {
  const name = line()
  const { wrapper, pid } = await heldWithCommand(name, 300)
  await wrapper.kill()
  // Several times its ttl, and nobody renews it.
  await expect(strict(name).acquire({ waitMs: 2_000 })).rejects.toMatchObject({ code: 'HF_TIMEOUT' })
  const next = strict(name).acquire()
  process.kill(pid, 'SIGKILL')
  await (await next).release()
})

test('the command ends first: the place stays with the wrapper', async () => {
  const name = line()
  const { wrapper, pid } = await heldWithCommand(name, 60_000)
  process.kill(pid, 'SIGKILL')
  await expect(strict(name).acquire({ waitMs: 1_500 })).rejects.toMatchObject({ code: 'HF_TIMEOUT' })
  await wrapper.ask('release', name)
  await (await strict(name).acquire()).release()
})

test('a release frees the line though the command still runs, and break does, too', async () => {
  const [released, broken] = [line(), line()]
  const first = await heldWithCommand(released, 60_000)
  await first.wrapper.ask('release', released)
  await (await strict(released).acquire()).release()
  const second = await heldWithCommand(broken, 300)
  await second.wrapper.kill()
  expect(await hf.break(broken)).toBe(1)
  await (await strict(broken).acquire()).release()
  for (const { pid } of [first, second]) process.kill(pid, 'SIGKILL')
})
