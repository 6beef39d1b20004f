import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { acts, isAlive, Terminal, turns, until } from './terminal.ts'

const terminal = new Terminal()

describe('when run is killed with -9', () => {
  it('its program is stopped, and the next one acts only then', async () => {
    const first = terminal.script(['nine', '--ttl', '60s'], `echo $$ > nine.pid; ${acts('nine.log', 'first', 0)}`)
    await until('the first acts', () => terminal.read('nine.log') !== '')
    const second = terminal.script(['nine'], acts('nine.log', 'second', 5))
    first.kill('SIGKILL')
    // Long before the lease of a minute has run out.
    expect(await second.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('nine.log'))).toEqual(['first', 'second'])
    expect(isAlive(Number(terminal.read('nine.pid')))).toBe(false)
  })

  it('so is a program that ignores TERM, and what it has started', async () => {
    const script = `trap '' TERM; (${acts('deaf.log', 'first', 0)}) & ${acts('deaf.log', 'first', 0)}`
    const first = terminal.script(['deaf', '--ttl', '60s', '--grace', '700ms'], script)
    await until('the first acts', () => terminal.read('deaf.log') !== '')
    const second = terminal.script(['deaf'], acts('deaf.log', 'second', 5))
    first.kill('SIGKILL')
    expect(await second.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('deaf.log'))).toEqual(['first', 'second'])
  })

  it('while it waits, those behind it are served', async () => {
    const first = terminal.script(['queue'], acts('queue.log', 'first', 0))
    await until('the first acts', () => terminal.read('queue.log') !== '')
    const waiters = async (): Promise<number> =>
      JSON.parse((await terminal.holdfast('show', 'queue', '--json')).out).waiters.length
    const second = terminal.script(['queue', '--ttl', '60s'], acts('queue.log', 'never', 5))
    await until('the second waits', async () => (await waiters()) === 1)
    const third = terminal.script(['queue', '--ttl', '60s'], acts('queue.log', 'third', 5))
    await until('the third waits', async () => (await waiters()) === 2)
    second.kill('SIGKILL')
    first.kill('SIGTERM')
    expect(await third.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('queue.log'))).toEqual(['first', 'third'])
  })

  it('at any moment of its life, no two programs act together', async () => {
    const seed = randomInt(2 ** 31)
    let state = seed
    const random = (): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return state / 2 ** 32
    }
    const last = terminal.script(['any'], acts('any.log', 'opening', 5))
    expect(await last.exit).toMatchObject({ code: 0 })
    for (let round = 0; round < 12; round++) {
      const victim = terminal.script(['any', '--ttl', '60s', '--grace', '200ms'], acts('any.log', `victim${round}`, 0))
      await new Promise((resolve) => setTimeout(resolve, random() * 250))
      victim.kill('SIGKILL')
      const next = await terminal.script(['any'], acts('any.log', `next${round}`, 3)).exit
      expect(next, `seed ${seed}, round ${round}`).toMatchObject({ code: 0 })
    }
    expect(() => turns(terminal.read('any.log')), `seed ${seed}`).not.toThrow()
  })
})
