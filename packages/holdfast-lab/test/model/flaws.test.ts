/**
 * The model can see: every planted fault breaks a law in the world that it names, and without it that world is whole.
 */
import { expect, test } from 'vitest'
import { FLAWS } from '../../src/model/flaws.ts'
import { explore } from '../../src/model/search.ts'
import { jobOf, WORLDS } from '../../src/model/worlds.ts'

for (const { name, rules, world: of, fault, times = 1 } of FLAWS) {
  test(`found: ${name}`, () => {
    const world = WORLDS.find((each) => each.name === of)
    if (world === undefined) throw new Error(`there is no world ${of}`)
    const { budget } = jobOf(world, ...(fault === null ? [] : ([[fault, times]] as const)))
    const { fault: found } = explore(world, budget, { rules, statesMax: 50_000 })
    expect(found?.law).toMatch(/^(exclusion|order|honesty|orphan|tokens|liveness): /)
  })
}

test('every finding of class A that is a fault of the line is among them', () => {
  // A3 is a transaction of the user's, A6 counts votes, A12 is a connection, A13 a process: the model has none of them.
  const ofTheLine = ['A1', 'A2', 'A4', 'A5', 'A7', 'A8', 'A9', 'A10', 'A11']
  const planted = new Set(FLAWS.flatMap(({ finding }) => (finding === undefined ? [] : [finding])))
  expect(ofTheLine.filter((finding) => !planted.has(finding))).toEqual([])
})
