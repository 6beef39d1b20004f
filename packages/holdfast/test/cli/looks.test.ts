/** Looks go on for days: they leave nothing behind, and end at once. */
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { looks } from '../../src/cli/looks.ts'
import { holdfast } from '../../src/index.ts'
import { memory } from '../../src/stores/memory/index.ts'

test('no listener is left of a look', async () => {
  const hf = await holdfast(memory())
  const ending = new AbortController()
  const held = await hf.mutex('seen').acquire()
  let count = 0
  for await (const { lines } of looks(hf, '', 1, ending.signal)) {
    expect(lines.map(({ name }) => name)).toEqual(['seen'])
    expect(getEventListeners(ending.signal, 'abort')).toEqual([])
    if (++count === 20) ending.abort()
  }
  expect(count).toBe(20)
  await held.release()
  await hf.close()
})

test('a store that does not answer keeps nobody who wants to leave', async () => {
  const driver = memory()
  const hf = await holdfast(driver)
  const ending = new AbortController()
  const all = looks(hf, '', 1, ending.signal)
  await all.next()
  driver.list = async function* () {
    await new Promise(() => undefined)
    yield* []
  }
  const next = all.next()
  setTimeout(() => ending.abort(), 10)
  expect(await next).toEqual({ done: true, value: undefined })
  expect(getEventListeners(ending.signal, 'abort')).toEqual([])
  await hf.close()
})
