import { expect, test } from 'vitest'
import { Keys } from '../../../src/stores/redis/keys.ts'

const keys = new Keys('holdfast')

/** What Redis hashes to find the slot of a key: between the first { and the first } behind it, if anything is there. */
function hashTag(key: string): string {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return open < 0 || close <= open + 1 ? key : key.slice(open + 1, close)
}

test.each(['a', '}', '{', '{}', '}{', '%', '%7D', '%25', 'a}b{c', '锁', ' ', ':', '}:q', '\u0000'])(
  'the name %j round-trips, and all its keys share a slot of their own',
  (name) => {
    const [line, queue] = keys.line(name)
    expect(keys.nameOf(line)).toBe(name)
    expect(keys.nameOf(queue)).toBeNull()
    expect(keys.nameOf(keys.cell(name))).toBeNull()
    const tags = [line, queue, keys.cell(name), keys.bucket(name)].map(hashTag)
    expect(new Set(tags).size).toBe(1)
    expect(tags[0]).not.toBe('')
    expect(line).not.toBe(tags[0])
  },
)

test('different names have different keys, also where one looks like the escape of the other', () => {
  const names = ['}', '%7D', '%257D', '%', '%25', 'a', 'a}', 'a%7D']
  expect(new Set(names.map((name) => keys.line(name)[0])).size).toBe(names.length)
})

test('what is special in a pattern is taken literally', () => {
  expect(new Keys('h*').pattern('a[b]?\\-^')).toBe('h\\*:{a\\[b\\]\\?\\\\\\-\\^*}')
})

test('a foreign key has no name', () => {
  for (const key of ['holdfast', 'holdfast:', 'holdfast:{a', 'other:{a}', 'holdfast:{a}}', 'holdfast:inbox:1']) {
    expect(keys.nameOf(key)).toBeNull()
  }
})
