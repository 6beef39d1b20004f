import { expect, test } from 'vitest'
import { holdfast, UsageError } from 'holdfast'

test('a lock, and an error that is known', async () => {
  const hf = await holdfast('memory:')
  expect(await hf.mutex('stock').using(async () => 7)).toBe(7)
  await expect(holdfast({})).rejects.toThrow(UsageError)
  await hf.close()
})
