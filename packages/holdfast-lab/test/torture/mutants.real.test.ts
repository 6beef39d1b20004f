/** The torture can see: every planted fault is found, and the lock without one is not. */
import { afterAll, expect, test, vi } from 'vitest'
import type { Backend } from '../../src/torture/backend/backend.ts'
import { spawnBackend } from '../../src/torture/backend/spawn.ts'
import { RULES } from '../../src/torture/checker/finding.ts'
import { MUTANTS } from '../../src/torture/mutants/catalogue.ts'
import { control } from '../../src/torture/mutants/control.ts'
import { runMutant } from '../../src/torture/mutants/run.ts'
import { requireServers } from '../../src/testbed/require.ts'

// They mostly sleep; more at once would starve each other on two cores.
vi.setConfig({ maxConcurrency: 3 })

/** What a fault of chance needs to come out, at most. */
const TRIES = 8
const PER_MUTANT = 100

await requireServers(['redis'])
const shared = await spawnBackend('redis')
const opened: Backend[] = [shared]
afterAll(async () => {
  for (const backend of opened) await backend.close()
})

/** A fault that hits the whole server must not hit the others' runs. */
async function backendFor({ store, nemeses }: (typeof MUTANTS)[number]): Promise<Backend> {
  if (store === undefined && !nemeses.some((name) => shared.deeds[name] !== undefined)) return shared
  const own = await spawnBackend(store ?? 'redis')
  opened.push(own)
  return own
}

test('there are at least 15 mutants, each with a name and rules of its own', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(15)
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  for (const { name, breaks } of MUTANTS) expect(breaks, name).not.toEqual([])
  const seen = new Set(MUTANTS.flatMap(({ breaks }) => breaks))
  // Those of the store alone, which no client can break: the resource refuses, and the search cross-checks the rest.
  const others = new Set(['effects', 'honest-loss', 'order'])
  for (const rule of RULES) expect(seen.has(rule) || others.has(rule), `a mutant breaks ${rule}`).toBe(true)
})

for (const [at, mutant] of MUTANTS.entries()) {
  test.concurrent(`found: ${mutant.name} (${mutant.seen})`, { timeout: 180_000 }, async ({ expect }) => {
    const backend = await backendFor(mutant)
    const { judgement, isFound, runs } = await runMutant(mutant, backend, (at + 1) * PER_MUTANT, TRIES)
    const broken = [...new Set(judgement.violations.map(({ rule }) => rule))]
    expect(isFound, `${mutant.mistake}; after ${runs} runs: broken ${broken.join(', ') || 'nothing'}`).toBe(true)
  })
}

test('the control is not found', { timeout: 120_000 }, async () => {
  const { judgement } = await runMutant(control, shared, 1, 1)
  expect(judgement.violations).toEqual([])
})
