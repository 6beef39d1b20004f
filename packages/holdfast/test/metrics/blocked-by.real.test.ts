/** Who blocked me, on a real server with many keys: one look at one lock, and no walk through all of them. */
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdfast } from '../../src/index.ts'
import { instrumentHoldfast } from '../../src/metrics/otel.ts'
import { redisAsk } from '../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
let server: Server

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})
afterAll(() => bed?.close())

test.each([['main'], ['worker']] as const)(
  'heartbeat %s: the span names the holder, and nobody scanned',
  async (heartbeat) => {
    const exporter = new InMemorySpanExporter()
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
    const stop = instrumentHoldfast({ tracerProvider, blockedByAfterMs: 1 })
    try {
      await using theirs = await holdfast(server.url, { label: 'kitchen' })
      await using ours = await holdfast(server.url, { heartbeat })
      const held = await theirs.mutex('stock').acquire()
      const waiting = ours.mutex('stock').acquire()
      await new Promise((resolve) => setTimeout(resolve, 300))
      await held.release()
      await (await waiting).release()
      expect(exporter.getFinishedSpans().map(({ attributes }) => attributes)).toMatchObject([
        { 'holdfast.blocked_by.label': 'kitchen', 'holdfast.blocked_by.token': String(held.token) },
      ])
      expect(await redisAsk(server.port, '', ['INFO', 'commandstats'])).not.toContain('cmdstat_scan:')
    } finally {
      stop()
    }
  },
)
