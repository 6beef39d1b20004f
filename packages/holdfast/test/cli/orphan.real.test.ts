import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { acts, guardianOf, isAlive, Terminal, turns, until } from './terminal.ts'

const terminal = new Terminal()
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('when run is killed with -9', () => {
  it('its program is stopped, and the next one acts only then', async () => {
    const first = terminal.script(['nine', '--ttl', '300s'], `echo $$ > nine.pid; ${acts('nine.log', 'first', 0)}`)
    await until('the first acts', () => terminal.read('nine.log') !== '')
    const second = terminal.script(['nine'], acts('nine.log', 'second', 5))
    await until('the second waits', async () => (await terminal.waiters('nine')) === 1)
    first.kill('SIGKILL')
    // Long before the lease of five minutes has run out: the test does not last as long.
    expect(await second.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('nine.log'))).toEqual(['first', 'second'])
    expect(isAlive(Number(terminal.read('nine.pid')))).toBe(false)
  })

  it('so is a program that ignores TERM, and what it has started', async () => {
    const script = `trap '' TERM; (${acts('deaf.log', 'first', 0)}) & ${acts('deaf.log', 'first', 0)}`
    const first = terminal.script(['deaf', '--ttl', '300s', '--grace', '700ms'], script)
    await until('the first acts', () => terminal.read('deaf.log') !== '')
    const second = terminal.script(['deaf'], acts('deaf.log', 'second', 5))
    await until('the second waits', async () => (await terminal.waiters('deaf')) === 1)
    first.kill('SIGKILL')
    expect(await second.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('deaf.log'))).toEqual(['first', 'second'])
  })

  it('together with its guardian, its program goes on, and so does its lock until the program ends', async () => {
    const first = terminal.script(['both', '--ttl', '300s'], `echo $$ > both.pid; ${acts('both.log', 'first', 0)}`)
    await until('the first acts', () => terminal.read('both.log') !== '')
    const second = terminal.script(['both'], acts('both.log', 'second', 5))
    await until('the second waits', async () => (await terminal.waiters('both')) === 1)
    const guardian = guardianOf(first.pid)
    first.kill('SIGSTOP')
    process.kill(guardian, 'SIGKILL')
    first.kill('SIGKILL')
    await until('both are gone', () => first.hasExited && !isAlive(guardian))
    expect(await terminal.holdfast('run', 'both', '--no-wait', '--', 'true')).toMatchObject({ code: 75 })
    process.kill(-Number(terminal.read('both.pid')), 'SIGKILL')
    expect(await second.exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('both.log'))).toEqual(['first', 'second'])
  })

  it('while it waits, those behind it are served', async () => {
    const first = terminal.script(['queue'], acts('queue.log', 'first', 0))
    await until('the first acts', () => terminal.read('queue.log') !== '')
    const second = terminal.script(['queue', '--ttl', '300s'], acts('queue.log', 'never', 5))
    await until('the second waits', async () => (await terminal.waiters('queue')) === 1)
    const third = terminal.script(['queue', '--ttl', '300s'], acts('queue.log', 'third', 5))
    await until('the third waits', async () => (await terminal.waiters('queue')) === 2)
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
    for (let round = 0; round < 8; round++) {
      const script = `trap '' TERM; ${acts('any.log', `victim${round}`, 0)}`
      const victim = terminal.script(['any', '--ttl', '300s', '--grace', '600ms'], script)
      await pause(random() * 600)
      const next = terminal.script(['any'], acts('any.log', `next${round}`, 3))
      await pause(random() * 300)
      victim.kill('SIGKILL')
      expect(await next.exit, `seed ${seed}, round ${round}`).toMatchObject({ code: 0 })
    }
    expect(() => turns(terminal.read('any.log')), `seed ${seed}`).not.toThrow()
  }, 120_000)
})
