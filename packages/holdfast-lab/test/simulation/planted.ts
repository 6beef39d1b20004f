/** The product with a fault planted in it, in a copy, and a simulation that runs on it. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Mutant } from '../../simulation/locks/mutants.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const PARTS = [
  'packages/holdfast/src',
  'packages/holdfast/conformance',
  'packages/holdfast-lab/src/torture/random.ts',
  'packages/holdfast-lab/src/simulated',
  'packages/holdfast-lab/simulation',
  'package.json',
  'tsconfig.json',
]

async function plant({ file, find, replace }: Mutant, at: string): Promise<void> {
  for (const part of PARTS) await cp(join(ROOT, part), join(at, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(at, 'node_modules'))
  const source = await readFile(join(at, file), 'utf8')
  expect(source.split(find).length, `${file} has the patched place exactly once`).toBe(2)
  await writeFile(
    join(at, file),
    source.replace(find, () => replace),
  )
}

/** Runs a simulation (the name of its folder) on a product with that fault; each try is a list of arguments. */
export async function expectFound(simulation: string, mutant: Mutant, ...tries: string[][]): Promise<void> {
  const at = await mkdtemp(join(tmpdir(), 'holdfast-mutant-'))
  try {
    await plant(mutant, at)
    let found = { code: 0, out: '' }
    for (const args of tries) if (found.code === 0) found = await simulate(at, simulation, args)
    expect(found.code, found.out).toBe(1)
    // A run that merely broke is no finding: the simulation must name a seed.
    expect(found.out).toMatch(/✗ seed \d+: /)
  } finally {
    await rm(at, { recursive: true, force: true })
  }
}

function simulate(at: string, simulation: string, args: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    const program = ['--import', 'tsx', `packages/holdfast-lab/simulation/${simulation}/main.ts`, ...args]
    execFile(process.execPath, program, { cwd: at, timeout: 170_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, out: stdout + stderr })
    })
  })
}
