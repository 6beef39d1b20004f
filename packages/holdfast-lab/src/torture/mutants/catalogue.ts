/** All planted faults. */
import { bugs } from './bugs.ts'
import { control } from './control.ts'
import type { Mutant } from './mutant.ts'
import { queues } from './queues.ts'
import { recipes } from './recipes.ts'
import { wrapped } from './wrapped.ts'

export const MUTANTS: readonly Mutant[] = [...recipes, ...bugs, ...queues, ...wrapped]

export function mutantNamed(name: string): Mutant {
  const found = [...MUTANTS, control].find((mutant) => mutant.name === name)
  if (found === undefined) throw new RangeError(`there is no mutant ${JSON.stringify(name)}`)
  return found
}
