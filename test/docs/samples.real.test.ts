/**
 * Every sample of TypeScript in the README and in docs/ compiles under strict against the built package; those of the
 * README, of docs/start, and those whose page says what they print, run.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireServers } from '../../packages/holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../packages/holdfast-lab/src/testbed/testbed.ts'
import { PACKAGES, PRELUDE, RUN } from './prelude.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

interface Sample {
  /** Where it stands: `docs/how-to/ids.md:3`. */
  readonly at: string
  readonly text: string
  /** What the page says that it prints. */
  readonly prints: string | null
}

let folder: string
let samples: Sample[]

async function pages(): Promise<string[]> {
  const docs = await readdir(join(ROOT, 'docs'), { recursive: true })
  const root = ['README.md', 'README.zh-CN.md', 'CONTRIBUTING.md']
  return [...root, ...docs.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)]
}

async function samplesOf(page: string): Promise<Sample[]> {
  const text = await readFile(join(ROOT, page), 'utf8')
  const blocks = /^```ts\n([\s\S]*?)^```$(?:\n\nIt prints:\n\n```text\n([\s\S]*?)^```$)?/gm
  return [...text.matchAll(blocks)].map((match) => ({
    at: `${page}:${text.slice(0, match.index).split('\n').length}`,
    text: match[1] as string,
    prints: match[2] ?? null,
  }))
}

const fileOf = ({ at }: Sample): string => join(folder, `${at.replace(/[^\w]+/g, '-')}.ts`)

/** A project of somebody who has installed the package, and whatever else the samples use. */
beforeAll(async () => {
  expect(existsSync(join(ROOT, 'packages/holdfast/dist/index.d.ts')), 'build it first: node scripts/build.js').toBe(
    true,
  )
  folder = await mkdtemp(join(tmpdir(), 'holdfast-samples-'))
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'packages.d.ts'), PACKAGES)
  await writeFile(join(folder, 'prelude.d.ts'), PRELUDE)
  await writeFile(join(folder, 'run.mjs'), RUN)
  samples = (await Promise.all((await pages()).map(samplesOf))).flat()
  // A module, so that what one sample names is not known in the next.
  await Promise.all(samples.map((sample) => writeFile(fileOf(sample), `${sample.text}\nexport {}\n`)))
}, 120_000)
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('every sample compiles', () => {
  expect(samples.length).toBeGreaterThan(25)
  const files = [...samples.map(fileOf), join(folder, 'packages.d.ts'), join(folder, 'prelude.d.ts')]
  const program = ts.createProgram(files, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
    strict: true,
    // As NestJS wants it.
    experimentalDecorators: true,
    skipLibCheck: true,
    noEmit: true,
  })
  const faults = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const sample = samples.find((each) => fileOf(each) === file?.fileName)
    const line = file === undefined || start === undefined ? '' : file.text.slice(0, start).split('\n').length
    return `${sample?.at ?? file?.fileName}, line ${line} of it: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
  expect(faults).toEqual([])
})

test('the samples of the README run', async () => {
  await requireServers(['redis', 'postgres'])
  const bed = await testbed()
  const outcomes: unknown[] = []
  try {
    const [redis, postgres] = await Promise.all([bed.redis(), bed.postgres()])
    for (const sample of samples.filter(({ at }) => at.startsWith('README.md'))) {
      const args = ['--import', 'tsx', join(folder, 'run.mjs'), fileOf(sample), redis.url, postgres.url]
      // The default store is a file of the user; here it is one of the test.
      const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state') }
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env, timeout: 60_000 })
      outcomes.push(JSON.parse(stdout))
    }
  } finally {
    await bed.close()
  }
  expect(outcomes).toEqual([
    { sold: 1, served: [], left: null },
    { sold: 1, served: [], left: null },
    { sold: 0, served: ['42'], left: '6' },
  ])
}, 300_000)

/** As `npm init` writes it: a file is a module by its ending alone. */
test('whole programs print what their pages say, in a project of any kind', async () => {
  await requireServers(['redis'])
  const project = join(folder, 'start')
  await mkdir(project)
  await writeFile(join(project, 'package.json'), '{ "type": "commonjs" }')
  const ending = /npx tsx first(\.\w+)$/m.exec(await readFile(join(ROOT, 'docs/start/index.md'), 'utf8'))?.[1] as string
  const programs = samples.filter(({ at, prints }) => at.startsWith('docs/start/') || prints !== null)
  expect(programs.length).toBeGreaterThan(7)
  const bed = await testbed()
  try {
    const redis = await bed.redis()
    for (const program of programs) {
      const file = join(project, basename(fileOf(program)).replace(/\.ts$/, ending))
      await writeFile(file, program.text.replaceAll('redis://localhost:6379', redis.url))
      const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state') }
      const options = { cwd: project, env, timeout: 60_000 }
      const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', file], options)
      expect(stdout, program.at).toBe(program.prints)
    }
  } finally {
    await bed.close()
  }
}, 300_000)
