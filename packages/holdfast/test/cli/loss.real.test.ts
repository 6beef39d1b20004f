import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadEngine } from '../../src/stores/sqlite/engine.ts'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import { acts, broken, guardianOf, isAlive, Terminal, turns, until } from './terminal.ts'

const terminal = new Terminal()
let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
}, 600_000)
afterAll(() => bed?.close())

/** Whether a place in the file lives as long as this process does. */
async function isTied(pid: number): Promise<boolean> {
  const engine = (await loadEngine(undefined))(terminal.path('locks.db'))
  try {
    return engine.prepare('SELECT 1 FROM process WHERE pid = ?').get(pid) !== undefined
  } finally {
    engine.close()
  }
}

function groupMembers(group: number): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(pgrp) === group && state !== 'Z'
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT' || code === 'ESRCH') return false
      throw error
    }
  })
}

describe('when the lock is lost', () => {
  it('because run itself is stopped past its lease, the program is gone before the next one acts; 79', async () => {
    const first = terminal.script(['stopped', '--ttl', '2s'], acts('stopped.log', 'first', 0))
    await until('the first acts', () => terminal.read('stopped.log') !== '')
    const second = terminal.script(['stopped'], acts('stopped.log', 'second', 5))
    first.kill('SIGSTOP')
    expect(await second.exit).toMatchObject({ code: 0 })
    first.kill('SIGCONT')
    const exit = await first.exit
    expect(exit.code).toBe(79)
    expect(exit.err).toMatch(/^holdfast: [^\n]*"stopped"[^\n]*; sh was ended by SIGTERM\n$/)
    expect(turns(terminal.read('stopped.log'))).toEqual(['first', 'second'])
  })

  it('a program that ignores TERM is killed by then, with all that it has started', async () => {
    const script = `trap '' TERM; (${acts('deaf.log', 'first', 0)}) & ${acts('deaf.log', 'first', 0)}`
    const first = terminal.script(['deaf', '--ttl', '2s'], `echo $$ > deaf.pid; ${script}`)
    await until('the first acts', () => terminal.read('deaf.log') !== '')
    const second = terminal.script(['deaf'], acts('deaf.log', 'second', 5))
    first.kill('SIGSTOP')
    expect(await second.exit).toMatchObject({ code: 0 })
    first.kill('SIGCONT')
    expect(await first.exit).toMatchObject({ code: 79 })
    expect(turns(terminal.read('deaf.log'))).toEqual(['first', 'second'])
    expect(groupMembers(Number(terminal.read('deaf.pid')))).toEqual([])
  })

  it('by break --now, the whole group is stopped: TERM, grace, KILL; 79', async () => {
    const exit = await broken(terminal, 'broken')
    expect(exit).toMatchObject({ code: 79, out: 'ready\ntold\n' })
    expect(exit.err).toMatch(/sh was ended by SIGKILL\n$/)
    expect(groupMembers(Number(terminal.read('broken.pid')))).toEqual([])
  })

  it('the code is 79 although the program ends with 0 when told', async () => {
    const run = terminal.script(['polite'], `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
    await until('it is ready', () => run.out.includes('ready'))
    await terminal.holdfast('break', 'polite', '--yes', '--now')
    expect(await run.exit).toMatchObject({ code: 79, err: expect.stringMatching(/sh ended with 0\n$/) })
  })

  it('a stopped program is stopped for good', async () => {
    const run = terminal.script(['asleep', '--ttl', '2s'], acts('asleep.log', 'first', 0))
    await until('it acts', () => terminal.read('asleep.log') !== '')
    const next = terminal.script(['asleep'], acts('asleep.log', 'second', 5))
    run.kill('SIGTSTP')
    expect(await next.exit).toMatchObject({ code: 0 })
    run.kill('SIGCONT')
    expect(await run.exit).toMatchObject({ code: 79 })
    expect(turns(terminal.read('asleep.log'))).toEqual(['first', 'second'])
  })
})

describe('when the guardian is killed', () => {
  it('so is the program, before the lock is released; 70', async () => {
    const run = terminal.script(['unguarded'], `echo $$ > unguarded.pid; ${acts('unguarded.log', 'first', 0)}`)
    await until('it acts', () => terminal.read('unguarded.log') !== '')
    await until('run knows of it', () => isTied(Number(terminal.read('unguarded.pid'))))
    const next = terminal.script(['unguarded'], acts('unguarded.log', 'second', 5))
    process.kill(guardianOf(run.pid), 'SIGKILL')
    const exit = await run.exit
    expect(exit.code).toBe(70)
    expect(exit.err).toMatch(/^holdfast: the guardian process was killed/)
    expect(await next.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('unguarded.log'))).toEqual(['first', 'second'])
    expect(isAlive(Number(terminal.read('unguarded.pid')))).toBe(false)
  })
})

describe('when the guardian is stopped', () => {
  it('and the lock is lost, run itself ends the whole group after the grace; 79', async () => {
    let guardian = 0
    const exit = await broken(terminal, 'frozen', (run) => {
      guardian = guardianOf(run.pid)
      process.kill(guardian, 'SIGSTOP')
    })
    expect(exit).toMatchObject({ code: 79, out: 'ready\ntold\n' })
    expect(exit.err).toMatch(/sh was killed\n$/)
    expect(groupMembers(Number(terminal.read('frozen.pid')))).toEqual([])
    await until('the guardian is gone', () => !isAlive(guardian))
  })

  it('and the lease ends unrenewed, the program is gone before the next one acts; 79', async () => {
    const server = await bed.redis()
    const script = `echo $$ > cut.pid; trap '' TERM; ${acts('cut.log', 'first', 0)}`
    const store = { HOLDFAST_STORE: server.url }
    const first = terminal.script(['cut', '--ttl', '4s', '--grace', '1s'], script, store)
    await until('the first acts', () => terminal.read('cut.log') !== '')
    const second = terminal.script(['cut'], acts('cut.log', 'second', 5), store)
    process.kill(guardianOf(first.pid), 'SIGSTOP')
    server.pause()
    await until('the first is gone', () => groupMembers(Number(terminal.read('cut.pid'))).length === 0)
    server.resume()
    expect(await second.exit).toMatchObject({ code: 0 })
    expect(await first.exit).toMatchObject({ code: 79 })
    expect(turns(terminal.read('cut.log'))).toEqual(['first', 'second'])
  }, 120_000)

  it('before the program has started, and run is killed: nobody is served while it could still start', async () => {
    const first = terminal.script(['late'], `echo ready; ${acts('late.log', 'first', 0)}`)
    await until('it is ready', () => first.out.includes('ready'))
    const second = terminal.script(
      ['late', '--ttl', '300s', '--grace', '300ms'],
      `trap '' TERM; ${acts('late.log', 'second', 0)}`,
    )
    await until('the second waits', async () => (await terminal.waiters('late')) === 1)
    const guardian = guardianOf(second.pid)
    process.kill(guardian, 'SIGSTOP')
    first.kill('SIGTERM')
    await first.exit
    // It has the lock, and orders the start that nobody carries out.
    await until('its place is tied to the guardian', () => isTied(guardian))
    second.kill('SIGKILL')
    await until('run is gone', () => second.hasExited)
    expect(await terminal.holdfast('run', 'late', '--no-wait', '--', 'true')).toMatchObject({ code: 75 })
    const third = terminal.script(['late'], acts('late.log', 'third', 5))
    process.kill(guardian, 'SIGCONT')
    expect(await third.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('late.log')).at(-1)).toBe('third')
  })
})
