/** Servers that are missing: told with what to install, or installed when asked for. */
import { expect, test } from 'vitest'
import { errorExit } from '../../../holdfast/src/cli/exit.ts'
import { EXHIBITS } from '../../src/lab/catalogue.ts'
import { provide } from '../../src/lab/run.ts'
import { TestbedError } from '../../src/testbed/error.ts'
import type { Kind } from '../../src/testbed/needs.ts'

const redisOnly = EXHIBITS.filter(({ servers, tools }) => servers.join() === 'redis' && tools === undefined)

/** A machine that lacks these kinds, and notes what it is asked for. */
class BareMachine {
  readonly #lacks: Kind[]
  readonly asked: (readonly Kind[])[] = []
  readonly installed: (readonly Kind[])[] = []

  constructor(...lacks: Kind[]) {
    this.#lacks = lacks
  }

  missing(kinds: readonly Kind[]): Promise<Kind[]> {
    this.asked.push(kinds)
    return Promise.resolve(this.#lacks)
  }

  install(kinds: readonly Kind[]): Promise<void> {
    this.installed.push(kinds)
    return Promise.resolve()
  }
}

test('nothing is missing: nothing is done', async () => {
  const machine = new BareMachine()
  await provide(redisOnly, true, machine)
  expect(machine.asked).toEqual([['redis']])
  expect(machine.installed).toEqual([])
})

test('a missing server is an error that names the packages, and ends the command with 69', async () => {
  const machine = new BareMachine('redis')
  const refused = await provide(redisOnly, false, machine).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(TestbedError)
  expect((refused as Error).message).toMatch(/not installed: redis; .*redis-server .*--install/)
  expect(errorExit(refused)).toBe(69)
  expect(machine.installed).toEqual([])
})

test('an exhibit that moves a clock needs a compiler, too', async () => {
  const machine = new BareMachine('compiler')
  const clock = EXHIBITS.filter(({ name }) => name === 'redlock-clock')
  await expect(provide(clock, false, machine)).rejects.toThrow(/not installed: compiler; .*gcc libc6-dev/)
  expect(machine.asked).toEqual([['redis', 'compiler']])
})

test('with --install it is installed', async () => {
  const machine = new BareMachine('redis')
  await provide(redisOnly, true, machine)
  expect(machine.installed).toEqual([['redis']])
})
