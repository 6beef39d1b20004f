import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { acts, guardianOf, isAlive, Terminal, turns, until } from './terminal.ts'

const terminal = new Terminal()

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
    const script = `trap 'echo told' TERM; (trap '' TERM; sleep 60) & while :; do sleep 0.01; done`
    const run = terminal.script(['broken', '--grace', '300ms'], `echo $$ > broken.pid; echo ready; ${script}`)
    await until('it is ready', () => run.out.includes('ready'))
    await terminal.holdfast('break', 'broken', '--yes', '--now')
    const exit = await run.exit
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
