import { expect, test } from 'vitest'
import { hostnameOf } from '../src/access.ts'
import { readLimits } from '../src/cli/limits.ts'
import { resolveConsole } from '../src/options.ts'
import { Ring } from '../src/ring.ts'

test('the name of a Host, whatever its port', () => {
  expect(hostnameOf('LocalHost:80')).toBe('localhost')
  expect(hostnameOf('[::1]:7000')).toBe('[::1]')
  for (const bad of [undefined, '', 'a b', 'a@b', 'a:b:c', 'a/b', ':80']) expect(hostnameOf(bad)).toBe('')
})

test('options are refused before anything is done', () => {
  const audit = (): void => {}
  expect(() => resolveConsole({ pollMs: 10 })).toThrow(/pollMs/)
  expect(() => resolveConsole({ readToken: 'short' })).toThrow(/at least 16/)
  expect(() => resolveConsole({ allowBreak: { token: 'with a space in it', audit } })).toThrow(/no spaces/)
  expect(() => resolveConsole({ path: 'locks' })).toThrow(/begin with/)
  expect(() => resolveConsole({ limiters: [{ name: 'a', limit: 1, perMs: 1_000, keys: [] }] })).toThrow(/1 to 50 keys/)
  expect(() => resolveConsole({ polMs: 1 } as never)).toThrow(/has no polMs/)
})

test('limiters on the command line', () => {
  expect(readLimits('api=100/1s/20:a,b; mail=10/1m:all')).toEqual([
    { name: 'api', limit: 100, perMs: 1_000, burst: 20, keys: ['a', 'b'] },
    { name: 'mail', limit: 10, perMs: 60_000, keys: ['all'] },
  ])
})

test('a ring keeps the last', () => {
  const ring = new Ring<number>(3)
  for (let i = 0; i < 20; i++) ring.add(i)
  expect(ring.all()).toEqual([17, 18, 19])
})
