import { expect, test } from 'vitest'
import { StoreUnreachableError, UsageError } from '../../../holdfast/src/contract/errors.ts'
import { patiently } from '../../src/torture/conductor/patiently.ts'

test('an outage is waited out, at most so long; all else is told at once', async () => {
  let asked = 0
  const comesBack = async (): Promise<string> => {
    if (++asked < 3) throw new StoreUnreachableError('it is away')
    return 'here'
  }
  expect(await patiently(30_000, comesBack)).toBe('here')
  expect(asked).toBe(3)
  await expect(patiently(0, () => Promise.reject(new StoreUnreachableError('it stays away')))).rejects.toThrow(
    'it stays away',
  )
  const wrong = new UsageError('it is wrong')
  await expect(patiently(30_000, () => Promise.reject(wrong))).rejects.toBe(wrong)
})
