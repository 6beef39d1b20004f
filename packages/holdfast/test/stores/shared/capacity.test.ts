/** The refusal of another capacity. */
import { expect, test } from 'vitest'
import { CapacityMismatchError } from '../../../src/contract/errors.ts'
import { capacityError } from '../../../src/stores/shared/capacity.ts'

test('says which line, what it has and what was asked for', () => {
  const error = capacityError({ line: 'a "b"', capacity: 3 }, 2)
  expect(error).toBeInstanceOf(CapacityMismatchError)
  expect(error).toMatchObject({
    code: 'HF_CAPACITY',
    line: 'a "b"',
    message: 'lock "a \\"b\\"" is in use with capacity 2; this caller asked for 3',
  })
})
