/** Enters of one process: in their turn, and not at all for those who have gone. */
import { expect, test } from 'vitest'
import type { Entry, Place } from '../../../src/contract/driver.ts'
import { StoreUnreachableError } from '../../../src/contract/errors.ts'
import { Entering } from '../../../src/stores/sql/entering.ts'

const entry = (id: string): Entry => ({ line: 'l', id, weight: 1, capacity: 1, ttlMs: 1_000, data: '{}' })

test('who leaves before its turn is not asked for, and need not be left', async () => {
  const entering = new Entering()
  const asked: string[] = []
  let answer = (): void => {}
  const ask = (id: string): Promise<Place | null> =>
    entering.run(entry(id), () => {
      asked.push(id)
      return new Promise((resolve) => (answer = () => resolve(null)))
    })
  const [a, b, c] = [ask('a'), ask('b'), ask('c')]
  expect(entering.leave('b')).toBe(false)
  expect(entering.leave('a'), 'it is on its way').toBe(true)
  answer()
  await Promise.all([a, b])
  expect(asked).toEqual(['a', 'c'])
  answer()
  await c
  expect(entering.leave('c')).toBe(true)
})

test('an earlier request of its own may be on its way: it must be left, and is not asked for again', async () => {
  const entering = new Entering()
  await expect(entering.run(entry('a'), () => Promise.reject(new StoreUnreachableError('?')))).rejects.toThrow('?')
  let answer = (): void => {}
  const other = entering.run(entry('b'), () => new Promise((resolve) => (answer = () => resolve(null))))
  const again = entering.run(entry('a'), () => Promise.reject(new Error('asked for')))
  expect(entering.leave('a')).toBe(true)
  answer()
  expect(await Promise.all([other, again])).toEqual([null, null])
})
