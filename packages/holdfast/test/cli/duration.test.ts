import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from '../../src/cli/duration.ts'
import { UsageError } from '../../src/contract/errors.ts'

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['2m', 120_000],
    ['1h', 3_600_000],
    ['0s', 0],
    ['1.5s', 1_500],
    ['0.25m', 15_000],
    ['0.4ms', 0],
  ])('reads %s', (text, ms) => {
    expect(parseDuration('--ttl', text)).toBe(ms)
  })

  it.each(['', 's', '5', '5 s', '-5s', '5S', '5d', '1h30m', '1e3s', '.5s', 'Infinity', '5s\n', `${'9'.repeat(40)}h`])(
    'refuses %j',
    (text) => {
      expect(() => parseDuration('--ttl', text)).toThrow(UsageError)
      expect(() => parseDuration('--ttl', text)).toThrow(/--ttl must be a time such as/)
    },
  )

  it('proposes seconds for a bare number', () => {
    expect(() => parseDuration('--wait', '10')).toThrow(/did you mean 10s\?/)
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [999.4, '999ms'],
    [1_000, '1.0s'],
    [59_940, '59.9s'],
    [59_960, '1m00s'],
    [61_000, '1m01s'],
    [3_599_600, '1h00m'],
    [5_400_000, '1h30m'],
    [86_400_000, '24h00m'],
    [3 * 86_400_000 + 3_600_000, '3d01h'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})
