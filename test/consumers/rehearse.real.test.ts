/** `rehearse` in the test runners of other people, from the packed packages: `require` in Jest, `import` elsewhere. */
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeProject, pack, type Project } from './project.ts'
import list from './projects.json' with { type: 'json' }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

let work: string
let project: Project

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'holdfast-rehearse-'))
  const [library, laboratory] = [await pack(work), await pack(work, 'holdfast-lab')]
  const { jest } = list.projects['jest 30'].dependencies
  project = await makeProject(library, {
    from: 'rehearse',
    dependencies: { jest, 'holdfast-lab': `file:${laboratory}` },
  })
  await symlink(join(ROOT, 'node_modules/vitest'), join(project.folder, 'node_modules/vitest'))
})
afterAll(async () => {
  await project?.remove()
  await rm(work, { recursive: true, force: true })
})

test('Jest', async () => {
  const { code, said } = await project.run('node_modules/.bin/jest', 'jest.test.js')
  expect({ code, said }).toMatchObject({ code: 0, said: expect.stringMatching(/2 passed/) })
  expect(said).not.toMatch(/did not exit|worker process has failed/)
})

test('Vitest', async () => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const { code, said } = await project.run(process.execPath, vitest, 'run', 'vitest.test.mjs')
  expect({ code, said }).toMatchObject({ code: 0, said: expect.stringMatching(/2 passed/) })
})

test('node:test', async () => {
  const { code, said } = await project.run(process.execPath, '--test', 'node.mjs')
  expect({ code, said }).toMatchObject({ code: 0, said: expect.stringMatching(/pass 2\n/) })
})
