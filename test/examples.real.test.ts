/** Every program of examples/ does what it says, on real servers. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireServers } from '../packages/holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../packages/holdfast-lab/src/testbed/testbed.ts'
import { initRedlock } from '../packages/holdfast/src/stores/redlock/index.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
const urls: Record<string, string> = { memory: 'memory:sale' }
let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis', 'postgres', 'mariadb', 'etcd', 'zookeeper'])
  bed = await testbed()
  urls.sqlite = `sqlite:${bed.dir}/sale.sqlite`
  const start = {
    redis: async () => (await bed.redis()).url,
    redlock: async () => {
      const { url } = await bed.redlock(3)
      await initRedlock(url)
      return url
    },
    etcd: async () => (await bed.etcd()).url,
    zookeeper: async () => (await bed.zookeeper()).url,
    postgres: async () => (await bed.postgres()).url,
    mysql: async () => (await bed.mariadb()).url,
  }
  await Promise.all(
    Object.entries(start).map(async ([store, open]) => {
      urls[store] = await open()
    }),
  )
}, 600_000)

afterAll(async () => {
  await bed?.close()
})

async function output(program: string, url?: string): Promise<string> {
  const args = [`examples/${program}.ts`, ...(url === undefined ? [] : [url])]
  const { stdout } = await run(`${ROOT}node_modules/.bin/tsx`, args, { cwd: ROOT, timeout: 120_000 })
  return stdout.trim()
}

describe.concurrent('flash sale', () => {
  test.each(['memory', 'sqlite', 'redis', 'redlock', 'etcd', 'zookeeper', 'postgres', 'mysql'])(
    'on %s',
    async (store) => {
      expect(await output('flash-sale', urls[store])).toBe('sold 10, left 0')
    },
  )
})

test.concurrent.each([
  ['cron-once', 'no period ran twice'],
  ['leader', 'leader: first\nleader: second\nthe token has risen'],
  ['idempotent-endpoint', '1 answer, 1 charge'],
  ['worker-pool', '10 jobs, never more than 3 at a time'],
  ['rate-limited-client', '10 calls, spread by the limit'],
  ['ids', '2000 different ids'],
  ['nest-app', 'sold 5, left 0'],
])('%s', async (program, said) => {
  expect(await output(program, urls.redis)).toBe(said)
})

test('migration in two replicas', async () => {
  expect(await output('migration', urls.postgres)).toBe('migrated, nothing to do')
})
