import { expect, test } from 'vitest'
import type { Handle } from '../../src/hold/handle.ts'
import type { Held } from '../../src/hold/held.ts'
import { holdfast } from '../../src/open.ts'

const credential = (held: Held): Handle['credential'] => (held as Handle).credential

test('the credential names the place, not its id, and stays with the place while it is handed on', async () => {
  await using hf = await holdfast('memory:')
  const lock = hf.mutex('a')
  const first = await lock.acquire()
  const waiting = lock.acquire()
  await first.release()
  const second = await waiting
  const [before, after] = [credential(first), credential(second)]
  expect(before.place).toMatch(/^[0-9a-f]{16}$/)
  expect(before).toEqual({
    line: 'a',
    token: first.token,
    place: before.place,
    mode: 'exclusive',
    alone: false,
    fenced: true,
  })
  expect(after).toEqual({ ...before, token: before.token + 1n })
  await second.release()
  const third = credential(await lock.acquire())
  expect(third.place).not.toBe(before.place)
})

test('it says what kind of hold it is', async () => {
  await using hf = await holdfast('memory:')
  expect(credential(await hf.mutex('b', { fairness: 'strict' }).acquire())).toMatchObject({ alone: true })
  expect(credential(await hf.election('c').campaign())).toMatchObject({ mode: 'exclusive', alone: true })
  expect(credential(await hf.rwLock('d').read.acquire())).toMatchObject({ mode: 'shared' })
  expect(credential(await hf.semaphore('e', 1).acquire())).toMatchObject({ mode: 'permits' })
  // A reader inside a writer is the writer.
  await hf.rwLock('f').write.using(async () => {
    expect(credential(await hf.rwLock('f').read.acquire())).toMatchObject({ mode: 'exclusive' })
  })
})
