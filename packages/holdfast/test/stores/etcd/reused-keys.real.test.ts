import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { oneMember, open, rawClient } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

/** The keys that are written in a line from now on. */
async function keysWritten(line: string): Promise<string[]> {
  const keys: string[] = []
  const rangeEnd = Buffer.from(`holdfast/line/${line}0`)
  const options = { rangeEnd, filters: ['nodelete'] as const }
  await rawClient(url).watch(Buffer.from(`holdfast/line/${line}/`), options, {
    onEvents: (events) => void keys.push(...events.map(({ kv }) => Buffer.from(kv.key).toString())),
    onEnd: () => {},
  })
  return keys
}

describe.skipIf(skipped('etcd'))('keys are used again', () => {
  test('a line that is taken again and again leaves one key in the index, and its tokens rise', async () => {
    const hf = await open(url)
    const written = await keysWritten('often')
    const tokens: bigint[] = []
    for (let i = 0; i < 20; i++) await hf.mutex('often').using(({ token }) => void tokens.push(token))
    await expect.poll(() => written.length, { timeout: 30_000 }).toBe(20)
    expect(new Set(written).size).toBe(1)
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)))
  })

  test('not that of a place whose end is in doubt: what comes late must find nobody there', async () => {
    const { port } = new URL(url.replace('etcd:', 'http:'))
    const proxy = await faultProxy({ port: Number(port) })
    onTestFinished(() => proxy.close())
    const hf = await open(`etcd://127.0.0.1:${proxy.port}`)
    const written = await keysWritten('doubted')
    const held = await hf.mutex('doubted').acquire()
    await expect.poll(() => written.length, { timeout: 30_000 }).toBe(1)
    const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes(written[0] as string) })
    await held.release()
    expect(await lost).toBe(true)
    for (let i = 0; i < 2; i++) await (await hf.mutex('doubted').acquire()).release()
    await expect.poll(() => written.length, { timeout: 30_000 }).toBe(3)
    expect(written[1]).not.toBe(written[0])
    expect(written[2]).toBe(written[1])
  })
})
