/** The simulation can see: every planted fault is found within 10 000 seeds. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MUTANTS, type Mutant } from '../../simulation/locks/mutants.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

async function plant({ file, find, replace }: Mutant, at: string): Promise<void> {
  for (const part of [
    'packages/holdfast/src',
    'packages/holdfast-lab/simulation',
    'packages/holdfast-lab/src',
    'package.json',
    'tsconfig.json',
  ]) {
    await cp(join(ROOT, part), join(at, part), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(at, 'node_modules'))
  const source = await readFile(join(at, file), 'utf8')
  expect(source.split(find).length, `${file} has the patched place exactly once`).toBe(2)
  await writeFile(
    join(at, file),
    source.replace(find, () => replace),
  )
}

function simulate(at: string, seeds: string): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve) => {
    const args = ['--import', 'tsx', 'packages/holdfast-lab/simulation/locks/main.ts', '--seeds', seeds]
    execFile(process.execPath, args, { cwd: at, timeout: 150_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, out: stdout + stderr })
    })
  })
}

test('there are at least 12 mutants, each with a name of its own', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  expect(MUTANTS.length).toBeGreaterThanOrEqual(12)
})

for (const mutant of MUTANTS) {
  test(`found: ${mutant.name}`, { timeout: 180_000 }, async () => {
    const at = await mkdtemp(join(tmpdir(), 'holdfast-mutant-'))
    try {
      await plant(mutant, at)
      const { code, out } = await simulate(at, '1..10000')
      expect(code, out).toBe(1)
      // A run that merely broke is no finding: the simulation must name a seed.
      expect(out).toMatch(/✗ seed \d+: /)
    } finally {
      await rm(at, { recursive: true, force: true })
    }
  })
}
