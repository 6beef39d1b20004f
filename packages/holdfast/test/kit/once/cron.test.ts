import { expect, test } from 'vitest'
import { UsageError } from '../../../src/index.ts'
import { Cron } from '../../../src/kit/once/cron.ts'

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

const iso = (ms: number | null): string => (ms === null ? 'never' : new Date(ms).toISOString())

test.each([
  ['@daily', '2026-11-16T04:00:00Z', '2026-11-17T00:00:00.000Z'],
  ['@hourly', '2026-11-16T04:00:00Z', '2026-11-16T05:00:00.000Z'],
  ['@weekly', '2026-11-16T04:00:00Z', '2026-11-22T00:00:00.000Z'],
  ['@Monthly', '2026-11-16T04:00:00Z', '2026-12-01T00:00:00.000Z'],
  ['@yearly', '2026-11-16T04:00:00Z', '2027-01-01T00:00:00.000Z'],
  ['0 0 * december Monday-friday', '2026-11-16T04:00:00Z', '2026-12-01T00:00:00.000Z'],
  // The 29th of February that is a Sunday: rarely, and around 2100 only after 40 years.
  ['0 0 29 2 */7', '2033-01-01T00:00:00Z', '2060-02-29T00:00:00.000Z'],
  ['0 0 29 2 */7', '2088-03-01T00:00:00Z', '2128-02-29T00:00:00.000Z'],
])('%s after %s is %s', (cron, from, expected) => {
  expect(next(cron, from)).toBe(expected)
})

test.each([
  // Clocks are put forward over 2:30 on 29 March 2026, and back over it on 25 October.
  ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', ['2026-03-29T01:30:00.000Z', '2026-03-30T00:30:00.000Z']],
  ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z']],
  ['0 9 * * mon-fri', 'America/New_York', '2026-03-06T15:00:00Z', ['2026-03-09T13:00:00.000Z']],
  ['0 0 1 * *', 'Asia/Shanghai', '2026-11-16T00:00:00Z', ['2026-11-30T16:00:00.000Z']],
  ['0 9 * * *', 'Asia/Kathmandu', '2026-11-16T00:00:00Z', ['2026-11-16T03:15:00.000Z']],
  // Every hour is every hour, also when the clock shows one of them twice.
  [
    '0 * * * *',
    'Europe/Berlin',
    '2026-10-24T23:30:00Z',
    ['2026-10-25T00:00:00.000Z', '2026-10-25T01:00:00.000Z', '2026-10-25T02:00:00.000Z'],
  ],
  [
    '*/30 * * * *',
    'Europe/Berlin',
    '2026-03-29T00:10:00Z',
    ['2026-03-29T00:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-29T01:30:00.000Z'],
  ],
])('%s in %s after %s', (cron, zone, from, expected) => {
  const times = new Cron(cron, zone)
  const found: string[] = []
  for (let ms = at(from); found.length < expected.length; ms = at(found.at(-1) as string))
    found.push(iso(times.next(ms)))
  expect(found).toEqual(expected)
  for (const time of expected) {
    expect(iso(times.last(at(time)))).toBe(time)
    expect(iso(times.last(at(time) + 59_000))).toBe(time)
  }
})

test.each(['Mars/Olympus', '', 7])('the time zone %j is refused', (zone) => {
  expect(() => new Cron('@daily', zone as string)).toThrow(UsageError)
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
