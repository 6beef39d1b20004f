import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, test } from 'vitest'
import { isAlive, type ProcessEntry, processEntry } from '../../src/testbed/proc.ts'
import { requireServers, skipped } from '../../src/testbed/require.ts'

describe.skipIf(skipped('redis'))('a testbed whose process dies', () => {
  beforeAll(() => requireServers(['redis']))

  test.each(['SIGKILL', 'SIGTERM'] as const)('by %s leaves no server and no folder', async (signal) => {
    const tsx = new URL('../../../../node_modules/tsx/dist/loader.mjs', import.meta.url).href
    const script = new URL('crash-child.ts', import.meta.url).pathname
    const child = spawn(process.execPath, ['--import', tsx, script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const exited = once(child, 'exit')
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    const { dir, pids } = JSON.parse(line) as { dir: string; pids: number[] }
    const servers = pids.map((pid) => processEntry(pid) as ProcessEntry)
    expect(servers).not.toContain(null)
    child.kill(signal)
    await exited
    await expect.poll(() => servers.some(isAlive), { timeout: 30_000 }).toBe(false)
    await expect.poll(() => existsSync(dir), { timeout: 30_000 }).toBe(false)
  })
})
