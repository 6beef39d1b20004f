/** What every bundled consumer does: a lock in memory, one over a client, and a URL whose package may not be there. */
import { holdfast, UsageError } from 'holdfast'
import { holdfast as locks } from 'holdfast/core'
import { memory } from 'holdfast/memory'
import { redis } from 'holdfast/redis'

export async function work() {
  const hf = await holdfast('memory:')
  const token = await hf.mutex('stock').using(async (held) => held.token)
  const core = locks(memory({ name: 'core' }))
  await core.mutex('stock').using(async () => token)
  const refused = await holdfast({}).catch((error) => error instanceof UsageError)
  const missing = await holdfast('postgres://127.0.0.1:1/none').then(
    async (opened) => {
      await opened.close()
      return 'loaded'
    },
    (error) => error.code,
  )
  await Promise.all([hf.close(), core.close()])
  const isBundled = typeof redis === 'function'
  return { token: typeof token, refused, pg: missing, isBundled }
}
