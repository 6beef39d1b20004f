/** Servers that are missing: told with what to install, or installed when asked for. */
import { expect, test, vi } from 'vitest'
import { errorExit } from '../../../holdfast/src/cli/exit.ts'
import { EXHIBITS } from '../../src/lab/catalogue.ts'
import { provide } from '../../src/lab/run.ts'
import { TestbedError } from '../../src/testbed/error.ts'
import { install, missing } from '../../src/testbed/require.ts'

vi.mock('../../src/testbed/require.ts', () => ({ missing: vi.fn(), install: vi.fn() }))

const redisOnly = EXHIBITS.filter(({ servers, tools }) => servers.join() === 'redis' && tools === undefined)

test('nothing is missing: nothing is done', async () => {
  vi.mocked(missing).mockResolvedValue([])
  await provide(redisOnly, true)
  expect(missing).toHaveBeenCalledWith(['redis'])
  expect(install).not.toHaveBeenCalled()
})

test('a missing server is an error that names the packages, and ends the command with 69', async () => {
  vi.mocked(missing).mockResolvedValue(['redis'])
  const refused = await provide(redisOnly, false).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(TestbedError)
  expect((refused as Error).message).toMatch(/not installed: redis; .*redis-server .*--install/)
  expect(errorExit(refused)).toBe(69)
})

test('an exhibit that moves a clock needs a compiler, too', async () => {
  vi.mocked(missing).mockResolvedValue(['compiler'])
  const clock = EXHIBITS.filter(({ name }) => name === 'redlock-clock')
  await expect(provide(clock, false)).rejects.toThrow(/not installed: compiler; .*gcc libc6-dev/)
  expect(missing).toHaveBeenLastCalledWith(['redis', 'compiler'])
})

test('with --install it is installed', async () => {
  vi.mocked(missing).mockResolvedValue(['redis'])
  await provide(redisOnly, true)
  expect(install).toHaveBeenCalledWith(['redis'])
})
