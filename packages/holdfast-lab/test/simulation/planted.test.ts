/** A planted fault replaces text of the product: each still finds that text, once. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MUTANTS as kit } from '../../simulation/kit/mutants.ts'
import { MUTANTS as locks } from '../../simulation/locks/mutants.ts'
import { MUTANTS as redlock } from '../../simulation/redlock/mutants.ts'

test.each([...locks, ...redlock, ...kit])('$name', ({ file, find }) => {
  const text = readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8')
  expect(text.split(find)).toHaveLength(2)
})
