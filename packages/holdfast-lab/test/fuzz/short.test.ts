/** Every fast target with what was found before and a few damaged inputs: `npm run fuzz` goes on where this ends. */
import { describe, expect, test } from 'vitest'
import { readCorpus } from '../../fuzz/corpus.ts'
import { Loop } from '../../fuzz/loop.ts'
import { Mutator } from '../../fuzz/mutator.ts'
import type { Target } from '../../fuzz/target.ts'
import { TARGETS } from '../../fuzz/targets/index.ts'

const SEED = 20_261_118
const INPUTS = 150

async function faultsOf(target: Target): Promise<string[]> {
  const faults: string[] = []
  const loop = new Loop(target, SEED, readCorpus(target.name), {
    began: () => undefined,
    found: () => undefined,
    failed: (input, error) => {
      const text = error instanceof Error ? String(error.stack) : String(error)
      faults.push(
        `${text}\n  replay: echo ${input.toString('base64')} | base64 -d > .tmp/input\n` +
          `  npm run fuzz -- ${target.name} --replay .tmp/input`,
      )
    },
  })
  await target.open?.()
  await loop.runSome(INPUTS)
  await target.close?.()
  return faults
}

const fast = TARGETS.filter(({ slow }) => slow !== true)

test('there are eight fast targets, and each slow one is named', () => {
  expect(fast.map(({ name }) => name)).toHaveLength(8)
  expect(TARGETS.filter(({ slow }) => slow).map(({ name }) => name)).toHaveLength(5)
})

describe.each(fast)('$name', (target) => {
  test('any bytes give a result or a typed error', async () => {
    expect(await faultsOf(target)).toEqual([])
  })
})

test('a fault of ours is seen: anything but a typed error', async () => {
  const broken: Target = {
    name: 'broken',
    says: 'a target with a bug',
    seeds: [Buffer.from('abc')],
    words: [],
    run(input) {
      if (input.length !== 3) throw new TypeError('planted')
    },
  }
  expect((await faultsOf(broken)).length).toBeGreaterThan(10)
})

test('the same seed damages alike', () => {
  const inputs = (seed: number): string[] => {
    const mutator = new Mutator(seed, ['x'])
    return Array.from({ length: 50 }, () => mutator.next([Buffer.from('hello world')]).toString('hex'))
  }
  expect(inputs(7)).toEqual(inputs(7))
  expect(inputs(7)).not.toEqual(inputs(8))
})
