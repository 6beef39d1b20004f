/** A server cut off from its quorum that still reads: it vouches for nothing. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreUnreachableError } from '../../../src/contract/errors.ts'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { Rig, say, until } from './rig.ts'

let rig: Rig

beforeAll(async () => {
  rig = await Rig.open(3, { env: { JAVA_TOOL_OPTIONS: '-Dreadonlymode.enabled=true' } })
})

afterAll(() => rig?.[Symbol.asyncDispose]())

test('a read-only server is no store; a hold there is lost by its own clock', async () => {
  const [alone, ...others] = rig.servers as [Server, ...Server[]]
  const servers = [`127.0.0.1:${alone.port}`]
  const hf = await rig.holdfast({ servers })
  const held = await hf.mutex('x').acquire()
  for (const server of others) await server.kill()
  await until('it is read-only', async () => ((await say(alone, 'isro', 'ro')) === 'ro' ? true : null))
  await until('the loss is told', () => (held.state === 'lost' ? true : null))
  await expect(hf.mutex('x').acquire({ waitMs: 1_000 })).rejects.toBeInstanceOf(StoreUnreachableError)
  await expect(zookeeper({ servers, connectTimeoutMs: 500 })).rejects.toBeInstanceOf(StoreUnreachableError)
})
