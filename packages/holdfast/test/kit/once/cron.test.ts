import { expect, test } from 'vitest'
import { UsageError } from '../../../src/index.ts'
import { Cron } from '../../../src/primitives/once/cron.ts'

const at = (text: string): number => Date.parse(text)
const next = (cron: string, from: string): string => new Date(new Cron(cron).next(at(from)) as number).toISOString()

test.each([
  ['* * * * *', '2026-11-16T04:30:30Z', '2026-11-16T04:31:00.000Z'],
  ['30 2 * * *', '2026-11-16T02:30:00Z', '2026-11-17T02:30:00.000Z'],
  ['*/15 * * * *', '2026-11-16T04:44:59Z', '2026-11-16T04:45:00.000Z'],
  ['5/20 3 * * *', '2026-11-16T03:26:00Z', '2026-11-16T03:45:00.000Z'],
  ['0 9-17/4 * * mon-fri', '2026-11-14T10:00:00Z', '2026-11-16T09:00:00.000Z'],
  ['0 0 29 2 *', '2026-11-16T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['0 0 31 * *', '2026-11-16T00:00:00Z', '2026-12-31T00:00:00.000Z'],
  ['0 0 * jan,jul 0', '2026-11-16T00:00:00Z', '2027-01-03T00:00:00.000Z'],
  ['0 0 * * 7', '2026-11-16T00:00:00Z', '2026-11-22T00:00:00.000Z'],
  // A day of the month and a day of the week: either will do.
  ['0 0 20 * fri', '2026-11-16T00:00:00Z', '2026-11-20T00:00:00.000Z'],
  ['0 0 18 * fri', '2026-11-16T00:00:00Z', '2026-11-18T00:00:00.000Z'],
  // A step over all days is still a star: every second day, if it is a Friday.
  ['0 0 */2 * fri', '2026-11-16T00:00:00Z', '2026-11-27T00:00:00.000Z'],
])('%s after %s is %s', (cron, from, expected) => {
  expect(next(cron, from)).toBe(expected)
})

test.each([
  '',
  '* * * *',
  '60 * * * *',
  '* 24 * * *',
  '* * 0 * *',
  '* * * 13 *',
  '* * * * 8',
  '5-1 * * * *',
  '*/0 * * * *',
])('%j is refused', (cron) => {
  expect(() => new Cron(cron)).toThrow(UsageError)
})

test.each(['a * * * *', '1- * * * *', '*-3 * * * *', '1,,2 * * * *', '0 0 30 feb *'])('%j is refused', (cron) => {
  expect(() => new Cron(cron)).toThrow(UsageError)
})
