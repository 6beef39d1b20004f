import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { Janitor } from '../../src/testbed/janitor.ts'
import { descendants, isAlive, type ProcessEntry, parseStat, processEntry } from '../../src/testbed/proc.ts'

const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

async function shell(script: string): Promise<ProcessEntry> {
  const child = spawn('sh', ['-c', script], { stdio: 'ignore' })
  children.push(child)
  await once(child, 'spawn')
  return processEntry(child.pid ?? 0) as ProcessEntry
}

test('the guardian ends recorded processes with their children, and spares a pid of another process', async () => {
  const janitor = await Janitor.open()
  const recorded = await shell('trap "" TERM; sleep 300 & wait; sleep 300')
  const stranger = await shell('sleep 300')
  await expect.poll(() => descendants(recorded.pid).length).toBe(1)
  const family = [recorded, ...descendants(recorded.pid)]
  await janitor.record(recorded)
  await janitor.record({ ...stranger, start: `${stranger.start}0` })
  await janitor.close()
  await expect.poll(() => family.some(isAlive), { timeout: 30_000 }).toBe(false)
  expect(isAlive(stranger)).toBe(true)
  expect(existsSync(janitor.dir)).toBe(false)
  await expect(janitor.record(stranger)).rejects.toMatchObject({ code: 'HF_TESTBED' })
})

test('a line of the process table is read from its last parenthesis, and a zombie is nobody', () => {
  const tail = '1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0'
  expect(parseStat(`42 (a (b) S 9) S ${tail}`)).toEqual({ pid: 42, parent: 1, start: '98765' })
  expect(parseStat(`42 (a) Z ${tail}`)).toBeNull()
})
