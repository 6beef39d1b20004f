/** House rules that matter are tests. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LINES_MAX = 400

interface Source {
  readonly path: string
  readonly text: string
  readonly imports: readonly string[]
}

function read(path: string): Source {
  const text = readFileSync(`${ROOT}${path}`, 'utf8')
  const imports = [...text.matchAll(/(?:^(?:import|export|\}) .*?from |\bimport\(|^import )'([^'\\]+)'/gm)].map(
    (match) => match[1] as string,
  )
  return { path, text, imports }
}

/** What git tracks, and what it would: a file is bound by the rules before it is committed. */
const paths = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  .toString()
  .split('\n')
const sources = paths.filter((path) => /^(src|conformance|test|bench|scripts)\/.*\.(ts|js)$/.test(path)).map(read)
const inside = (folder: string): Source[] => sources.filter(({ path }) => path.startsWith(`${folder}/`))

/** The code without its comments, where a rule is about what runs. */
function code({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

function offenders(among: readonly Source[], pattern: RegExp): string[] {
  return among.filter((source) => pattern.test(code(source))).map(({ path }) => path)
}

describe('house rules', () => {
  test('no source file grows past 400 lines', () => {
    const long = sources.filter(
      ({ path, text }) => !path.includes('.generated.') && text.split('\n').length > LINES_MAX,
    )
    expect(long.map(({ path }) => path)).toEqual([])
  })

  test('a source file opens by saying what it is', () => {
    const silent = [...inside('src'), ...inside('conformance')].filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text))
    expect(silent.map(({ path }) => path)).toEqual([])
  })

  test('core takes time and chance from its Runtime only', () => {
    const pattern = /\b(setTimeout|setInterval|setImmediate|Date\.now|new Date|performance\.now|Math\.random|hrtime)\b/
    expect(offenders([...inside('src/core'), ...inside('src/primitives')], pattern)).toEqual([])
  })

  test('drivers do not ask the wall clock', () => {
    expect(offenders(inside('src/drivers'), /\bDate\.now\b|\bnew Date\b/)).toEqual([])
  })

  test('core knows no driver, a driver knows no primitive and no other part above it', () => {
    const reach = (folder: string, target: RegExp): string[] =>
      inside(folder)
        .filter(({ imports }) => imports.some((name) => target.test(name)))
        .map(({ path }) => path)
    expect(reach('src/core', /drivers\/|primitives\/|testbed\/|cli\//)).toEqual([])
    expect(reach('src/primitives', /drivers\/|testbed\/|cli\//)).toEqual([])
    expect(reach('src/drivers', /primitives\/|testbed\/|cli\/|holdfast\.ts|open\.ts/)).toEqual([])
  })

  test('only the command line, the demonstration and scripts write to the console', () => {
    const quiet = sources.filter(({ path }) => !/^(src\/(cli|demo|testbed\/main)|scripts\/|bench\/|test\/)/.test(path))
    expect(offenders(quiet, /\bconsole\.|process\.stdout\.write/)).toEqual([])
  })

  test('no error is swallowed whole, no test is switched off, nothing is left for later', () => {
    expect(
      offenders(inside('src'), /catch\s*(\(\w*\))?\s*\{\s*\}|\.catch\(\(\)\s*=>\s*(\{\}|undefined|null)\)/),
    ).toEqual([])
    expect(offenders(inside('test'), /\b(it|test|describe)\.(skip|only|todo)\b/)).toEqual([])
    expect(sources.filter(({ text }) => /\b(TODO|FIXME|XXX|HACK)\b:/.test(text)).map(({ path }) => path)).toEqual([])
  })

  test('no Manager, Helper or utils', () => {
    expect(paths.filter((path) => /(manager|helper|utils?)\.(ts|js)$/i.test(path))).toEqual([])
    expect(offenders(inside('src'), /\bclass \w*(Manager|Helper)\b/)).toEqual([])
  })

  test('the packages that src imports are exactly those declared', () => {
    const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as Record<string, Record<string, string>>
    const declared = ['dependencies', 'optionalDependencies', 'peerDependencies'].flatMap((kind) =>
      Object.keys(manifest[kind] ?? {}),
    )
    const foreign = inside('src')
      .flatMap(({ imports }) => imports)
      .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
      .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
    expect([...new Set(foreign)].toSorted()).toEqual(declared.toSorted())
    const optional = manifest.peerDependenciesMeta as Record<string, { optional?: boolean }> | undefined
    for (const peer of Object.keys(manifest.peerDependencies ?? {})) expect(optional?.[peer]?.optional, peer).toBe(true)
  })

  test("the library's entry loads no client and no driver", () => {
    const entry = new Set<string>()
    const follow = (path: string): void => {
      if (entry.has(path)) return
      entry.add(path)
      const source = read(path)
      for (const [, name] of code(source).matchAll(/^(?:import|export)(?! type)[^']*from '(\.[^']+)'/gm)) {
        follow(new URL(name as string, `file:///${path}`).pathname.slice(1))
      }
    }
    follow('src/index.ts')
    expect([...entry].filter((path) => /drivers\/|testbed\/|cli\//.test(path))).toEqual([])
  })

  test('the public names are those of the reviewed list', async () => {
    // After a review: npx vitest run --project unit test/unit/house-rules.test.ts -u
    await expect(publicNames()).toMatchFileSnapshot('../public-api.txt')
  })
})

/** Every name that a user can import, by subpath. */
function publicNames(): string {
  const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { exports: Record<string, unknown> }
  const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
    const types = typeof target === 'object' && target !== null && 'types' in target ? String(target.types) : null
    return types === null ? [] : [{ subpath, file: `${ROOT}${types.replace('./dist/', '').replace('.d.ts', '.ts')}` }]
  })
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    {
      allowImportingTsExtensions: true,
      module: ts.ModuleKind.NodeNext,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
    },
  )
  const checker = program.getTypeChecker()
  const lines = entries.map(({ subpath, file }) => {
    const source = program.getSourceFile(file)
    const symbol = source === undefined ? undefined : checker.getSymbolAtLocation(source)
    const names = symbol === undefined ? [] : checker.getExportsOfModule(symbol).map(({ name }) => name)
    return `${subpath}\n${names
      .toSorted()
      .map((name) => `  ${name}\n`)
      .join('')}`
  })
  return lines.join('')
}
