/** "How to read it by hand": the commands on the pages of the stores show a lock that is held, and who waits for it. */
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireServers } from '../../packages/holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../packages/holdfast-lab/src/testbed/testbed.ts'
import { type Holdfast, holdfast } from '../../packages/holdfast/src/index.ts'
import { initRedlock } from '../../packages/holdfast/src/stores/redlock/index.ts'

const ROOT = new URL('../../', import.meta.url)
let bed: Testbed
let folder: string

beforeAll(async () => {
  await requireServers(['redis', 'postgres', 'mariadb', 'etcd', 'zookeeper'])
  bed = await testbed()
  folder = mkdtempSync(join(tmpdir(), 'holdfast-by-hand-'))
  writeFileSync(join(folder, 'sqlite3'), SQLITE3)
  chmodSync(join(folder, 'sqlite3'), 0o755)
})
afterAll(async () => {
  await bed?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The commands of a page that read what stands in the store. */
function commandsOf(page: string): string {
  const text = readFileSync(new URL(`docs/reference/stores/${page}.md`, ROOT), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] as string)
  const found = blocks.find((block) =>
    /^(ETCDCTL_API=3 )?(redis-cli|sqlite3|psql|mysql|etcdctl|zkCli\.sh) /.test(block),
  )
  expect(found, `${page}.md has commands`).toBeDefined()
  return (found as string).replace(/^holdfast .*\n/m, '')
}

async function countOf(hf: Holdfast): Promise<number> {
  let count = 0
  for await (const { holders, waiters } of hf.list()) count += holders.length + waiters.length
  return count
}

/** Debian's program `sqlite3` is in no package that other tests need: this reads the same file by the same command. */
const SQLITE3 = `#!${process.execPath}
const Database = require('${join(fileURLToPath(ROOT), 'node_modules/libsql')}')
const [file, sql] = process.argv.slice(-2)
for (const row of new Database(file, { readonly: true }).prepare(sql).all()) console.log(Object.values(row).join(' '))
`

const HOST = /\/\/(?:[^@/]*@)?([^/,]+)/
const hostOf = (url: string): string => HOST.exec(url)?.[1] as string

/** Each page names servers of its own; the test has others. */
const PAGES: Readonly<Record<string, { url(): Promise<string>; mine(text: string, url: string): string }>> = {
  redis: {
    url: async () => (await bed.redis()).url,
    mine: (text, url) => text.replaceAll('localhost:6379', hostOf(url)),
  },
  redlock: {
    url: async () => {
      const { url } = await bed.redlock()
      await initRedlock(url)
      return url
    },
    mine: (text, url) => text.replaceAll('r1:6379', hostOf(url)),
  },
  sqlite: {
    url: async () => `sqlite:${join(folder, 'locks.db')}`,
    mine: (text) => text.replace(/~\S*locks\.db/, join(folder, 'locks.db')),
  },
  postgres: {
    url: async () => (await bed.postgres()).url,
    mine: (text, url) => text.replace('postgres://app@db/shop', url),
  },
  mysql: {
    url: async () => (await bed.mariadb()).url,
    mine: (text, url) => {
      const { hostname, port, username, pathname } = new URL(url)
      return text.replace('-h db -P 3306 -u app shop', `-h ${hostname} -P ${port} -u ${username} ${pathname.slice(1)}`)
    },
  },
  etcd: { url: async () => (await bed.etcd()).url, mine: (text, url) => text.replaceAll('h1:2379', hostOf(url)) },
  zookeeper: {
    url: async () => (await bed.zookeeper()).url,
    mine: (text, url) => text.replaceAll('h1:2181', hostOf(url)),
  },
}

test.each(Object.keys(PAGES))('%s.md: the commands show the lock, its holder and its waiter', async (page) => {
  const { url, mine } = PAGES[page] as (typeof PAGES)[string]
  const store = await url()
  const [web, job] = [await holdfast(store, { label: 'web' }), await holdfast(store, { label: 'job' })]
  try {
    if (['postgres', 'mysql'].includes(page)) await web.setup()
    const held = await web.mutex('stock:42').acquire()
    const waits = job.mutex('stock:42').acquire()
    await expect.poll(() => countOf(web)).toBe(2)
    const PATH = `${folder}:${process.env['PATH']}:/usr/share/zookeeper/bin`
    const { stdout } = await promisify(execFile)('sh', ['-ec', mine(commandsOf(page), store)], {
      env: { ...process.env, PATH },
    })
    expect(stdout).toMatch(/stock(:|%3A)42/)
    // The nodes of ZooKeeper have the label in their data; a listing shows that there are two.
    if (page === 'zookeeper') expect(stdout.match(/p-[0-9a-f]{32}-1-1-\d{10}/g)).toHaveLength(2)
    else for (const label of ['web', 'job']) expect(stdout).toContain(`"label":"${label}"`)
    await held.release()
    await (await waits).release()
  } finally {
    await Promise.all([web.close(), job.close()])
  }
})
