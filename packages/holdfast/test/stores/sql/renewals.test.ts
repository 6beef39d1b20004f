import { expect, test } from 'vitest'
import type { Entry, Place } from '../../../src/contract/driver.ts'
import { Renewals } from '../../../src/stores/sql/renewals.ts'

const entry = (id: string): Entry => ({ line: 'a', id, weight: 1, capacity: 1, ttlMs: 1_000, data: '{}' })
const many = (count: number, name: string): Entry[] => Array.from({ length: count }, (_, i) => entry(`${name}${i}`))
const place = ({ id }: Entry): Place => ({
  token: BigInt(id.length),
  ahead: 0,
  recheckMs: null,
  since: { monoMs: 0, wallMs: 0 },
  wanted: id.endsWith('7'),
})

/** What was sent, each with its ids; one whose id begins with `gone` is gone. */
function recorded(): { readonly renewals: Renewals; readonly sent: string[][] } {
  const sent: string[][] = []
  const renewals = new Renewals(async (entries) => {
    sent.push(entries.map(({ id }) => id))
    return entries.map((one) => (one.id.startsWith('gone') ? null : place(one)))
  })
  return { renewals, sent }
}

test('what one turn asks for is one statement, up to 2 000 places; each caller gets its own answers', async () => {
  const { renewals, sent } = recorded()
  const batches = ['a', 'b', 'gone', 'd', 'e'].map((name) => many(500, name))
  const answers = await Promise.all(batches.map((batch) => renewals.touch(batch)))
  expect(sent.map(({ length }) => length)).toEqual([2_000, 500])
  expect(answers).toEqual(batches.map((batch) => batch.map((one) => (one.id.startsWith('gone') ? null : place(one)))))
  await renewals.touch([entry('later')])
  expect(sent.at(-1)).toEqual(['later'])
})

test('a place that is asked for twice is sent once, and answered twice', async () => {
  const { renewals, sent } = recorded()
  const [one, two] = await Promise.all([
    renewals.touch([entry('a7'), entry('b')]),
    renewals.touch([entry('c'), entry('a7')]),
  ])
  expect(sent).toEqual([['a7', 'b', 'c']])
  expect([one?.[0], two?.[1]]).toEqual([place(entry('a7')), place(entry('a7'))])
})

test('a failure is told to all who asked, and the next turn begins anew', async () => {
  let isBroken = true
  const renewals = new Renewals(async (entries) => {
    if (isBroken) throw new Error('no answer')
    return entries.map(place)
  })
  const asked = [renewals.touch([entry('a')]), renewals.touch([entry('b')])]
  for (const each of asked) await expect(each).rejects.toThrow('no answer')
  isBroken = false
  expect(await renewals.touch([entry('a')])).toHaveLength(1)
})
