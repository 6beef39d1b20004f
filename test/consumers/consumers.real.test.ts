/**
 * The packed tarball in other people's projects, as they load it. `npm run consumers` has more of them, which take
 * longer.
 */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile, mkdir, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type BuildOptions, type BuildResult } from 'esbuild'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireServers } from '../../packages/holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../packages/holdfast-lab/src/testbed/testbed.ts'
import { makeProject, pack, type Project } from './project.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PEERS = ['ioredis', 'mysql2', 'pg', 'postgres', '@redis', '@opentelemetry/api']
const { projects } = JSON.parse(await readFile(new URL('projects.json', import.meta.url), 'utf8')) as {
  readonly projects: Readonly<Record<string, { readonly dependencies: Readonly<Record<string, string>> }>>
}

let bed: Testbed
let redisUrl: string
let work: string
let tarball: string
let project: Project

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  redisUrl = (await bed.redis()).url
  process.env['HOLDFAST_TEST_REDIS'] = redisUrl
  work = await mkdtemp(join(tmpdir(), 'holdfast-tarball-'))
  tarball = await pack(work)
  project = await makeProject(tarball, {})
})

afterAll(async () => {
  await project?.remove()
  await rm(work, { recursive: true, force: true })
  await bed?.close()
})

/** A file of the project, run by Node. */
async function runFile(name: string, text: string): Promise<string> {
  await writeFile(join(project.folder, name), text)
  const { code, said } = await project.run(process.execPath, name)
  expect(said).not.toMatch(/warning/i)
  expect({ code, said }).toMatchObject({ code: 0 })
  return said.trim()
}

/** The peers as this repository has them, for as long as `work` takes. */
async function withPeers(work: () => Promise<void>): Promise<void> {
  const modules = join(project.folder, 'node_modules')
  for (const name of PEERS) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  try {
    await work()
  } finally {
    for (const name of PEERS) await rm(join(modules, name))
  }
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

test('npm i holdfast: one package of at most 3 MB, which runs nothing when it is installed', async () => {
  const modules = join(project.folder, 'node_modules')
  expect((await readdir(modules)).filter((name) => !name.startsWith('.'))).toEqual(['holdfast'])
  expect(await bytesIn(join(modules, 'holdfast'))).toBeLessThan(3_000_000)
  const { scripts = {} } = JSON.parse(await readFile(join(modules, 'holdfast/package.json'), 'utf8')) as {
    readonly scripts?: object
  }
  expect(scripts).toEqual({})
})

test('import and require give the same classes, and one state', async () => {
  const said = await runFile(
    'both.cjs',
    `const required = require('holdfast')
     const { memory } = require('holdfast/memory')
     import('holdfast').then(async (imported) => {
       const stores = await import('holdfast/memory')
       const a = await required.holdfast(memory({ name: 'x' }))
       const b = await imported.holdfast(stores.memory({ name: 'x' }))
       const isHeld = await a.mutex('stock').using(async () => (await b.mutex('stock').tryAcquire()) === null)
       const again = await a.mutex('stock').using(async () => a.mutex('stock').using(async () => 'inside'))
       const isKnown = await imported.holdfast({}).catch((error) => error instanceof required.UsageError)
       const isDefault = stores.default === memory
       const isOne = required.UsageError === imported.UsageError
       console.log(JSON.stringify({ isHeld, again, isKnown, isDefault, isOne }))
       await Promise.all([a.close(), b.close()])
     })`,
  )
  expect(JSON.parse(said)).toEqual({ isHeld: true, again: 'inside', isKnown: true, isDefault: true, isOne: true })
})

test('every entry can be imported and required, and has the same names', async () => {
  const manifest = await readFile(join(ROOT, 'packages/holdfast/package.json'), 'utf8')
  const { exports } = JSON.parse(manifest) as { readonly exports: Readonly<Record<string, object | string>> }
  const names = Object.entries(exports)
    .filter(([, forms]) => typeof forms === 'object')
    .map(([name]) => name.replace('.', 'holdfast'))
  await withPeers(async () => {
    const said = await runFile(
      'entries.mjs',
      `import { createRequire } from 'node:module'
       const require = createRequire(import.meta.url)
       for (const name of ${JSON.stringify(names)}) {
         const [imported, required] = [await import(name), require(name)]
         const differ = Object.keys(imported).filter((key) => imported[key] !== required[key])
         const isWhole = Object.keys(imported).length === Object.keys(required).length
         if (differ.length > 0 || !isWhole) console.log(name, differ)
       }`,
    )
    expect(said).toBe('')
  })
})

const APP = `
import { holdfast, type Holdfast, UsageError } from 'holdfast'
import { holdfast as locks } from 'holdfast/core'
import { ioredis } from 'holdfast/ioredis'
import memory, { memory as named } from 'holdfast/memory'
import { postgres } from 'holdfast/postgres'
import { Redis } from 'ioredis'
export async function main(): Promise<bigint> {
  const client = new Redis({ lazyConnect: true })
  const hf: Holdfast = await holdfast(client)
  locks(ioredis(client)).mutex('a')
  memory({ name: 'x' }); named(); postgres('postgres://h/d')
  // @ts-expect-error a wrong option is seen: the types are there
  hf.mutex('a', { ttl: 5 })
  return hf.mutex('a').using(async (held) => { if (held.token === 0n) throw new UsageError('none'); return held.token })
}
`

describe('types', () => {
  const { ModuleKind, ModuleResolutionKind } = ts
  test.each<[string, string, ts.CompilerOptions]>([
    ['node10', 'ts', { module: ModuleKind.CommonJS, moduleResolution: ModuleResolutionKind.Node10 }],
    ['node16, CommonJS', 'cts', { module: ModuleKind.Node16 }],
    ['node16, ES module', 'mts', { module: ModuleKind.Node16 }],
    ['nodenext, CommonJS', 'cts', { module: ModuleKind.NodeNext }],
    ['nodenext, ES module', 'mts', { module: ModuleKind.NodeNext }],
    ['bundler', 'ts', { module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler }],
    ['bundler, preserve', 'ts', { module: ModuleKind.Preserve, moduleResolution: ModuleResolutionKind.Bundler }],
  ])('%s', async (_, ending, options) => {
    await withPeers(async () => {
      const file = join(project.folder, `app.${ending}`)
      await writeFile(file, APP)
      const program = ts.createProgram([file], {
        target: ts.ScriptTarget.ES2022,
        lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
        strict: true,
        noEmit: true,
        esModuleInterop: true,
        ignoreDeprecations: '6.0',
        types: ['node'],
        typeRoots: [join(ROOT, 'node_modules/@types')],
        ...options,
      })
      const wrong = ts
        .getPreEmitDiagnostics(program)
        .filter(({ file: at }) => at === undefined || !/node_modules\/(?!holdfast)/.test(at.fileName))
      expect(wrong.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
      await rm(file)
    })
  })
})

describe('esbuild', () => {
  async function bundle(entry: string, out: string, options: BuildOptions = {}): Promise<BuildResult> {
    const result = await build({
      absWorkingDir: project.folder,
      entryPoints: [entry],
      outfile: out,
      bundle: true,
      minify: true,
      platform: 'node',
      target: 'node20',
      logLevel: 'silent',
      ...options,
    })
    expect(result.warnings.map(({ text }) => text)).toEqual([])
    return result
  }

  const RUN: Readonly<Record<string, string>> = {
    cjs: `require('./out.cjs').work().then((done) => console.log(JSON.stringify(done)))`,
    mjs: `import { work } from './out.mjs'\nconsole.log(JSON.stringify(await work()))`,
  }

  test.each(['cjs', 'mjs'] as const)('as .%s, without the peers and with them, without a warning', async (ending) => {
    const format = ending === 'cjs' ? 'cjs' : 'esm'
    await bundle('app.mjs', `out.${ending}`, { format })
    const done = { token: 'bigint', refused: true, isBundled: true }
    const text = RUN[ending] as string
    expect(JSON.parse(await runFile(`run.${ending}`, text))).toEqual({ ...done, pg: 'HF_MISSING_CLIENT' })
    await withPeers(async () => {
      await bundle('app.mjs', `out.${ending}`, { format })
      expect(JSON.parse(await runFile(`run.${ending}`, text))).toEqual({ ...done, pg: 'loaded' })
    })
  })

  test('holdfast/core over ioredis is at most 40 kB gzip', async () => {
    await writeFile(
      join(project.folder, 'core.mjs'),
      `import { holdfast } from 'holdfast/core'
       import { ioredis } from 'holdfast/ioredis'
       import { Redis } from 'ioredis'
       const client = new Redis(process.env.HOLDFAST_TEST_REDIS)
       const hf = holdfast(ioredis(client))
       console.log(await hf.mutex('core').using(async () => 'held'))
       await hf.close()
       client.disconnect()`,
    )
    await bundle('core.mjs', 'core.out.mjs', { format: 'esm', external: ['ioredis'] })
    const bytes = gzipSync(await readFile(join(project.folder, 'core.out.mjs')), { level: 9 }).length
    expect(bytes).toBeLessThanOrEqual(40_000)
    await withPeers(async () => {
      const { said } = await project.run(process.execPath, 'core.out.mjs')
      expect(said.trim()).toBe('held')
    })
  })

  test("heartbeat 'worker' from a bundle uses the package beside it, or says what to configure", async () => {
    await writeFile(
      join(project.folder, 'worker-app.mjs'),
      `import { holdfast } from 'holdfast'
       const done = holdfast(process.env.HOLDFAST_TEST_REDIS, { heartbeat: 'worker' }).then(async (hf) => {
         const told = await hf.mutex('worker').using(async () => 'held')
         await hf.close()
         return told
       })
       done.then(console.log, (error) => console.log(error.code, error.message))`,
    )
    for (const [out, format] of [
      ['w.cjs', 'cjs'],
      ['w.mjs', 'esm'],
    ] as const) {
      await bundle('worker-app.mjs', `alone/${out}`, { format })
      const beside = await project.run(process.execPath, `alone/${out}`)
      expect(beside.said.trim()).toBe('held')
      const elsewhere = join(work, 'elsewhere')
      await mkdir(elsewhere, { recursive: true })
      await rename(join(project.folder, 'alone', out), join(elsewhere, out))
      const said = execFileSync(process.execPath, [out], { cwd: elsewhere, encoding: 'utf8' })
      expect(said).toMatch(/^HF_USAGE heartbeat 'worker' .* keep holdfast out of the bundle \(external\)/)
    }
  })
})

test('Vitest', async () => {
  const own = await makeProject(tarball, { from: 'vitest' })
  await symlink(join(ROOT, 'node_modules/vitest'), join(own.folder, 'node_modules/vitest'))
  const { code, said } = await own.run(process.execPath, join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run')
  expect({ code, said }).toMatchObject({ code: 0, said: expect.stringMatching(/1 passed/) })
  await own.remove()
})

test.each(['jest 29', 'jest 30'])('%s', async (name) => {
  const { dependencies } = projects[name] as { readonly dependencies: Readonly<Record<string, string>> }
  const own = await makeProject(tarball, { from: 'jest', dependencies })
  const { code, said } = await own.run('node_modules/.bin/jest')
  expect({ code, said }).toMatchObject({ code: 0, said: expect.stringMatching(/4 passed/) })
  expect(said).not.toMatch(/did not exit|worker process has failed/)
  await own.remove()
})
