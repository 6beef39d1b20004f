import { expect, it } from 'vitest'
import { flag, optionsHelp, phrase, takesValue, value } from '../../src/cli/option.ts'

const long = `first ${'word '.repeat(30)}last`

it('lays options out in one column, and wraps what is long', () => {
  const rows = optionsHelp({
    json: flag('one object'),
    ttl: value('30s', long),
    'a-very-long-option': flag('x'),
  }).split('\n')
  expect(rows[0]).toBe('  --json          one object')
  expect(rows[1]).toMatch(/^ {2}--ttl 30s {7}first word/)
  expect(rows[2]).toMatch(/^ {18}word .*last$/)
  expect(rows[3]).toBe('  --a-very-long-option  x')
  expect(rows.every((row) => row.length <= 100)).toBe(true)
})

it('a completion shows one phrase', () => {
  expect(phrase(value('30s', 'the lease: how long; and so on'))).toBe('the lease')
  expect(phrase('flag')).toBe('')
})

it('a flag takes nothing, a value something, in either form', () => {
  expect([flag('x'), value('N', 'x'), 'flag' as const, 'value' as const].map(takesValue)).toEqual([
    false,
    true,
    false,
    true,
  ])
})
