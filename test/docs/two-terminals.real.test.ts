/**
 * docs/start/two-terminals.md, command by command, with the built command line and a real Redis. Twenty seconds, which
 * people need to get to the second terminal, are three here.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { requireServers } from '../../packages/holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../packages/holdfast-lab/src/testbed/testbed.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(join(ROOT, 'docs/start/two-terminals.md'), 'utf8')
const commands = [...page.matchAll(/^```sh\n(.*)\n```$/gm)].map((match) =>
  (match[1] as string).replace('sleep 20', 'sleep 3'),
)
const prints = /^```text\n([\s\S]*?)^```$/m.exec(page)?.[1] as string

test('A runs before B, C does not wait, and all of it is shown', async () => {
  await requireServers(['redis'])
  const [, a, b, c, show] = commands as [string, string, string, string, string]
  expect(commands).toHaveLength(5)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-terminals-'))
  writeFileSync(
    join(folder, 'npx'),
    `#!/bin/sh\nshift\nexec ${process.execPath} ${ROOT}packages/holdfast/dist/cli.cjs "$@"\n`,
  )
  chmodSync(join(folder, 'npx'), 0o755)
  const bed = await testbed()
  const running: ChildProcess[] = []
  let together = ''
  try {
    const { url } = await bed.redis()
    const env = { ...process.env, HOLDFAST_STORE: url, PATH: `${folder}:${process.env['PATH']}` }
    const terminal = (command: string): { readonly said: () => string; readonly ended: Promise<unknown[]> } => {
      const child = spawn('sh', ['-c', `exec ${command}`], { env, stdio: ['ignore', 'pipe', 'ignore'] })
      running.push(child)
      let said = ''
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString()
        if (command === a || command === b) together += chunk.toString()
      })
      return { said: () => said, ended: once(child, 'close') }
    }
    const first = terminal(a)
    await expect.poll(() => together).toContain('A begins')
    const second = terminal(b)
    const [third, shown] = [terminal(c), terminal(show)]
    expect((await third.ended)[0]).toBe(75)
    expect(third.said()).toBe('')
    await shown.ended
    expect(shown.said()).toMatch(/1 +holds +sh /)
    expect([(await first.ended)[0], (await second.ended)[0]]).toEqual([0, 0])
    expect(together).toBe(prints)
  } finally {
    for (const child of running) if (child.exitCode === null) child.kill()
    await bed.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
