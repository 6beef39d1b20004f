/** What `npm pack` would publish: only the product, and not much of it. Needs a build with types. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const FILES_MAX = 450
const PACKED_MAX_BYTES = 350_000
const COLUMNS_MAX = 200

interface Packed {
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

/** A file, or the files of each condition. */
type Target = string | { readonly [condition: string]: Target }

interface Manifest {
  readonly exports: Record<string, Target>
  readonly scripts?: Record<string, string>
  readonly dependencies?: Record<string, string>
}

describe('the package', () => {
  let packed: Packed
  let paths: string[]
  const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Manifest
  const targets = Object.values(manifest.exports)

  beforeAll(() => {
    const said = execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: PACKAGE, encoding: 'utf8' })
    const report = JSON.parse(said) as Packed[] | Record<string, Packed>
    packed = Object.values(report)[0] as Packed
    paths = packed.files.map(({ path }) => path)
    expect(paths, 'no types: node scripts/build.js').toContain('dist/index.d.ts')
  }, 120_000)

  test('has at most 450 files and 350 kB', () => {
    expect(paths.length).toBeLessThanOrEqual(FILES_MAX)
    expect(packed.size).toBeLessThanOrEqual(PACKED_MAX_BYTES)
  })

  test('has no laboratory, no sources, no tests and no script that runs at an install', () => {
    expect(
      paths.filter((path) => !/^(dist\/[\w-]+(\.d)?\.c?[jt]s|package\.json|README\.md|LICENSE)$/.test(path)),
    ).toEqual([])
    const code = paths.filter((path) => /\.c?js$/.test(path)).map((path) => readFileSync(join(PACKAGE, path), 'utf8'))
    expect(code.filter((text) => /\bclass (Testbed|Nemesis)\b/.test(text))).toEqual([])
    expect(manifest.scripts ?? {}).toEqual({})
    expect(manifest.dependencies ?? {}).toEqual({})
  })

  test('has one file of code and one of types for every entry', () => {
    const wanted = targets.flatMap(filesOf)
    expect(wanted.length).toBeGreaterThan(60)
    expect(wanted.filter((path) => !paths.includes(path.slice(2)))).toEqual([])
  })

  test('names the functions of the sources in a stack trace, in lines short enough to read', () => {
    const program = `
      import { holdfast } from ${JSON.stringify(pathToFileURL(join(PACKAGE, 'dist/index.js')).href)}
      const hf = await holdfast('memory:')
      await hf.mutex('stock:42').acquire()
      await hf.mutex('stock:42').acquire({ waitMs: 1 }).catch((error) => console.log(error.stack))
      await hf.close()`
    const stack = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    expect(stack).toMatch(/ at gaveUp \(.*dist.*:\d+:\d+\)/)
    expect(stack).toMatch(/ at (Waiter)?\.?#leave /)
    // Files that entries share are named after a module: `holdfast.cjs` or `acquire-waiter.cjs`, and not by a hash.
    const files = [...stack.matchAll(/\/dist\/([\w-]+)\.cjs:/g)].map((match) => match[1] as string)
    const modules = readdirSync(join(PACKAGE, 'src'), { recursive: true, encoding: 'utf8' })
    const known = new Set(modules.map((path) => path.replace(/\.ts$/, '').replaceAll('/', '-')))
    expect(files.length).toBeGreaterThan(0)
    expect(files.filter((file) => !known.has(file))).toEqual([])
    const columns = [...stack.matchAll(/\/dist\/.*:\d+:(\d+)\)/g)].map((match) => Number(match[1]))
    expect(columns.length).toBeGreaterThan(0)
    expect(columns.filter((column) => column > COLUMNS_MAX)).toEqual([])
  })

  test('keeps the doc comments in its types', () => {
    const types = paths.filter((path) => path.endsWith('.d.cts'))
    const text = types.map((path) => readFileSync(join(PACKAGE, path), 'utf8')).join('\n')
    expect(text).toContain(' * ')
    expect((text.match(/\/\*\*/g) ?? []).length).toBeGreaterThan(100)
  })

  test('has no types of its own inside: what a driver is built of is no business of its user', () => {
    const types = paths.filter((path) => path.endsWith('.d.cts'))
    const text = types.map((path) => readFileSync(join(PACKAGE, path), 'utf8')).join('\n')
    expect(text).toMatch(/declare class ZookeeperDriver/)
    expect(text).not.toMatch(/\b(class ZooKeeperClient|interface (DriverParts|Wire))\b/)
  })
})

function filesOf(target: Target): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(filesOf)
}
