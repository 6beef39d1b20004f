/** Keys of a Redis server that another client of it has written to. */
import { Connection } from '../../../holdfast/src/clients/redis/index.ts'
import type { Holdfast } from '../../../holdfast/src/holdfast.ts'
import { holdfast } from '../../../holdfast/src/open.ts'
import { type Testbed, testbed } from '../../src/testbed/testbed.ts'
import { attemptAsync, type Target } from '../target.ts'

let bed: Testbed
let hf: Holdfast
let other: Connection
let keys: string[] = []

/** The key gets this value, as a string, a list, a hash or a set; or a field of what it is already is changed. */
async function poison(key: string, how: number, value: string): Promise<void> {
  const command = [
    ['SET', key, value],
    ['APPEND', key, value],
    ['SETRANGE', key, value.length % 64, value],
    ['RPUSH', key, value],
    ['HSET', key, 'f', value],
    ['ZADD', key, '1', value],
    ['SADD', key, value],
    ['LSET', key, '0', value],
    ['PEXPIRE', key, '1'],
  ][how % 9] as string[]
  if (how % 2 === 1) await other.command(['DEL', key])
  await attemptAsync(() => other.command(command))
}

export const redisKeys: Target = {
  name: 'redis-keys',
  says: 'keys of Redis that another client has written to',
  slow: true,
  seeds: ['\x00\x00{"a":1}', '\x01\x02\x00\x00\x00\x00', '\x02\x01not json', '\x03\x03x', '\x00\x04\x04\xff'].map(
    (text) => Buffer.from(text, 'latin1'),
  ),
  words: ['\x00\x00\x00\x00\x00\x00\x00\x01', '\xff\xff\xff\xff', '{', '}', '"', '1', '-1', 'null', '\n'],
  async open() {
    bed = await testbed()
    const server = await bed.redis()
    other = new Connection({ port: server.port })
    hf = await holdfast(`redis://127.0.0.1:${server.port}?commandTimeoutMs=2000`, { ttlMs: 500 })
  },
  async run(input) {
    await other.command(['FLUSHALL'])
    const held = await attemptAsync(() => hf.mutex('taken').acquire({ waitMs: 2_000 }))
    const waits = hf.mutex('taken', { reentrant: false }).acquire({ waitMs: 30 })
    const waiting = attemptAsync(() => waits)
    await attemptAsync(() => hf.cell('cell').update(() => 1))
    await attemptAsync(() => hf.limiter('api', { limit: 5, perMs: 1_000 }).take('k'))
    keys = ((await other.command(['KEYS', '*'])) as string[]).toSorted()
    const [which = 0, how = 0] = input
    const key = keys[which % Math.max(1, keys.length)]
    if (key !== undefined) await poison(key, how, input.subarray(2).toString('latin1'))
    const deeds: (() => Promise<unknown>)[] = [
      async () => {
        for await (const line of hf.list()) Buffer.from(line.name)
      },
      () => hf.mutex('taken', { reentrant: false }).using(() => 'held', { waitMs: 20 }),
      () => hf.cell('cell').read(),
      () => hf.limiter('api', { limit: 5, perMs: 1_000 }).take('k'),
      () => hf.jobs(),
      () => hf.break('taken'),
      async () => held?.release(),
    ]
    for (const deed of deeds) await attemptAsync(deed)
    const late = await waiting
    await attemptAsync(async () => late?.release())
  },
  async close() {
    await hf.close()
    await other.close()
    await bed.close()
  },
}
