import { expect, test } from 'vitest'
import * as hf from '../../src/index.ts'

test('an error carries its code, line and cause', () => {
  const cause = new Error('socket')
  const error = new hf.StoreUnreachableError('redis: no answer', { line: 'stock', cause })
  expect(error).toBeInstanceOf(hf.HoldfastError)
  expect(error).toMatchObject({ code: 'HF_UNREACHABLE', line: 'stock', cause, name: 'StoreUnreachableError' })
})

test('codes are distinct', () => {
  const classes = [
    hf.AcquireTimeoutError,
    hf.LockLostError,
    hf.NotHeldError,
    hf.CapacityMismatchError,
    hf.UnsupportedError,
    hf.StoreError,
    hf.StoreUnreachableError,
    hf.UsageError,
    hf.MissingClientError,
    hf.OutcomeUnknownError,
    hf.ClosedError,
  ]
  const codes = classes.map((Class) => new Class('x').code)
  codes.push(new hf.StaleTokenError('x', { given: 1n, newest: 2n }).code)
  expect(new Set(codes).size).toBe(12)
})
