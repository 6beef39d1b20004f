/** One at a time, by key. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Serial } from '../../../src/stores/shared/serial.ts'

test('acts of one key run one after the other, in the order they were asked for', async () => {
  const serial = new Serial()
  const seen: string[] = []
  const act = (name: string) => async () => {
    seen.push(`${name} begins`)
    await turn()
    seen.push(`${name} ends`)
    return name
  }
  const all = ['a', 'b', 'c'].map((name) => serial.run('k', act(name)))
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c'])
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
})

test('the first act begins in the same call, and so does that of another key', () => {
  const serial = new Serial()
  const seen: string[] = []
  void serial.run('k', async () => void seen.push('k'))
  void serial.run('other', async () => void seen.push('other'))
  void serial.run('k', async () => void seen.push('k again'))
  expect(seen).toEqual(['k', 'other'])
})

test('an act that fails tells its own caller only, and lets the next begin', async () => {
  const serial = new Serial()
  const first = serial.run('k', () => Promise.reject(new Error('no')))
  const second = serial.run('k', () => Promise.resolve(2))
  await expect(first).rejects.toThrow('no')
  expect(await second).toBe(2)
})

test('a key that somebody has is not taken without waiting, and is free after the last has passed', async () => {
  const serial = new Serial()
  expect(await serial.take('k', false)).toBe(true)
  expect(await serial.take('k', false)).toBe(false)
  const next = serial.take('k', true)
  serial.pass('k')
  expect(await next).toBe(true)
  expect(await serial.take('k', false)).toBe(false)
  serial.pass('k')
  expect(await serial.take('k', false)).toBe(true)
})

test('who stops waiting is told why, and is not passed the key', async () => {
  const serial = new Serial()
  await serial.take('k', true)
  const abort = new AbortController()
  const given = serial.take('k', true, abort.signal)
  const behind = serial.take('k', true)
  abort.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  await expect(serial.take('k', true, abort.signal)).rejects.toThrow('enough')
  serial.pass('k')
  expect(await behind).toBe(true)
})
