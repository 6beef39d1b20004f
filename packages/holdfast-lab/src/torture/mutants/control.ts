/** The control: a correct lock of the same parts. The torture must find nothing here. */
import { script } from 'holdfast/internal'
import { timed } from './bench.ts'
import type { Mutant } from './mutant.ts'

/** The token is the time of the server, or one more than the last: given in the same step as the lock. */
const TAKE = script(`
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
local now = redis.call('TIME')
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
local token = math.max(last + 1, now[1] * 1000000 + now[2])
redis.call('SET', KEYS[2], string.format('%.0f', token))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return string.format('%.0f', token)`)

export const control: Mutant = {
  name: 'control',
  mistake: 'none',
  seen: 'nowhere',
  nemeses: ['pause-holder', 'kill-holder', 'partition', 'pause-client', 'partition-reset', 'latency'],
  breaks: [],
  fenced: true,
  make:
    (bench) =>
    async ({ line }) => {
      const id = bench.id()
      const since = performance.now()
      const token = await bench.redis.run(TAKE, [bench.key(line), bench.key(line, ':fence')], [id, String(bench.ttlMs)])
      if (typeof token !== 'string') return null
      return timed(BigInt(token), since, bench.ttlMs, () => bench.free(line, id))
    },
}
