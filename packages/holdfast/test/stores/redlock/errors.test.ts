import { expect, test } from 'vitest'
import { StoreUnreachableError } from '../../../src/contract/errors.ts'
import { SilentError, tellReasons } from '../../../src/stores/redlock/errors.ts'

test('servers that are silent for the same reason are told of together, with the longest time', () => {
  const down = new StoreUnreachableError('Redis at d:1 did not answer: no connection')
  expect(
    tellReasons([
      new SilentError('b:1', 700, 'it restarted'),
      down,
      new SilentError('a:1', 900, 'it restarted'),
      new SilentError('c:1', 0, 'its clock has jumped'),
    ]),
  ).toEqual([
    'Redis at d:1 did not answer: no connection',
    'Redis at a:1, b:1 give no votes for another 900 ms: it restarted',
    'Redis at c:1 gives no votes: its clock has jumped',
  ])
})

test('one reason is told once', () => {
  const one = new SilentError('a:1', 5, 'it restarted')
  expect(tellReasons([one, one])).toEqual([one.message])
})
