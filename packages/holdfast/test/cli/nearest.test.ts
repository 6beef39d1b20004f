import { describe, expect, it } from 'vitest'
import { editDistance, nearest } from '../../src/cli/nearest.ts'

describe('editDistance', () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['ttl', 'ttl', 0],
    ['tll', 'ttl', 1],
    ['wiat', 'wait', 1],
    ['brake', 'break', 2],
    ['kitten', 'sitting', 3],
  ])('%s to %s is %d', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance)
    expect(editDistance(b, a)).toBe(distance)
  })
})

describe('nearest', () => {
  const commands = ['run', 'ls', 'show', 'break']

  it.each([
    ['rnu', 'run'],
    ['lst', 'ls'],
    ['shwo', 'show'],
    ['brake', 'break'],
    ['l', 'ls'],
  ])('takes %s for %s', (word, meant) => {
    expect(nearest(word, commands)).toBe(meant)
  })

  it.each(['', 'xyz', 'something-else', 'q'])('proposes nothing for %j', (word) => {
    expect(nearest(word, commands)).toBeNull()
  })
})
