/** House rules that matter are tests. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { FOLDERS } from '../scripts/built.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const LINES_MAX = 400
const COLUMNS_MAX = 120
const GLOSSARY_MAX = 40
/**
 * Words that docs/explain/glossary.md has replaced: wakeups, batch, serial, pool, tombstones, heartbeat, cleanup,
 * quorum.
 */
const REPLACED =
  /\b(inbox|hub|vigils?|lookout|tenures|bell|sheaf|turns|bundles|lanes|graves?|janitor|council|keeper|reaper|voucher)\b/

/** Files of the root. Whatever else stands there was left by a program that ran in the wrong folder. */
const ROOT_FILES = new Set([
  ...['.gitattributes', '.gitignore', '.npmrc', '.oxlintrc.json', 'biome.json', 'knip.json', 'tsconfig.json'],
  ...['CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'README.zh-CN.md', 'SECURITY.md'],
  ...['package-lock.json', 'package.json', 'vitest.config.ts'],
])

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
const sources = paths.filter((path) => /^(packages|test|bench|scripts|examples)\/.*\.(ts|js)$/.test(path)).map(read)
const documents = paths.filter((path) => path.endsWith('.md')).map(read)
const inside = (...folders: readonly string[]): Source[] =>
  sources.filter(({ path }) => folders.some((folder) => path.startsWith(`${folder}/`)))
const LIBRARY = 'packages/holdfast/src'
const LABORATORY = 'packages/holdfast-lab/src'
const CONSOLE = 'packages/holdfast-console/src'
/** What every lock stands on: it knows no store. */
const CORE = ['contract', 'acquire', 'hold']
const TESTS = ['packages/holdfast/test', 'packages/holdfast-lab/test', 'packages/holdfast-console/test', 'test']
const library = (...folders: readonly string[]): Source[] => inside(...folders.map((folder) => `${LIBRARY}/${folder}`))

/** What a file imports of ours, by path from the root; packages by their name. */
function targets({ path, imports }: Source): string[] {
  return imports.map((name) => (name.startsWith('.') ? new URL(name, `file:///${path}`).pathname.slice(1) : name))
}

/** The files among them that import something whose path begins with one of those. */
function reach(among: readonly Source[], ...forbidden: readonly string[]): string[] {
  return among
    .filter((source) => targets(source).some((target) => forbidden.some((start) => target.startsWith(start))))
    .map(({ path }) => path)
}

/** The code without its comments, where a rule is about what runs. */
function code({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
}

/** Without the tables that a program writes: docs/explain/evidence.md has what a torture run said, word for word. */
function writtenByHand(path: string, text: string): string {
  return path === 'docs/explain/evidence.md'
    ? text.replace(/<!-- torture:long begins[\s\S]*?<!-- torture:long ends -->/g, '')
    : text
}

function exportsOf(source: Source): string[] {
  return [...source.text.matchAll(/^export (?:abstract )?(?:class|interface) (\w+)/gm)].map((m) => m[1] as string)
}

/** `LocalQueue` as `local-queue`. */
function hyphened(name: string): string {
  return name
    .replace('ZooKeeper', 'Zookeeper')
    .replace(/(?<=[a-z0-9])[A-Z]/g, '-$&')
    .toLowerCase()
}

function offenders(among: readonly Source[], pattern: RegExp): string[] {
  return among.filter((source) => pattern.test(code(source))).map(({ path }) => path)
}

describe('house rules', () => {
  test('a build is stale when a source of any package has changed', () => {
    const built = paths.filter((path) => /^packages\/[\w-]+\/(conformance|page|src)\//.test(path))
    const folders = [...new Set(built.map((path) => path.split('/').slice(0, 3).join('/')))]
    expect(FOLDERS).toEqual(folders.toSorted())
  })

  test('no source file grows past 400 lines', () => {
    const long = sources.filter(
      ({ path, text }) => !path.includes('.generated.') && text.split('\n').length > LINES_MAX,
    )
    expect(long.map(({ path }) => path)).toEqual([])
  })

  test('no line of a source or a page is longer than 120 columns', () => {
    const long = [...sources, ...documents]
      .filter(({ path }) => !path.includes('.generated.'))
      .flatMap(({ path, text }) =>
        writtenByHand(path, text)
          .split('\n')
          .flatMap((line, i) => (line.length > COLUMNS_MAX ? [`${path}:${i + 1}`] : [])),
      )
    expect(long).toEqual([])
  })

  test('the root holds the files that tools look for there, and none that a test left', () => {
    expect(paths.filter((path) => path !== '' && !path.includes('/') && !ROOT_FILES.has(path))).toEqual([])
  })

  test('a source file opens by saying what it is', () => {
    const silent = inside(LIBRARY, LABORATORY, CONSOLE, 'packages/holdfast/conformance').filter(
      ({ text }) => !/^(#!.*\n)?\/\*\*/.test(text),
    )
    expect(silent.map(({ path }) => path)).toEqual([])
  })

  test('core, locks and kit take time and chance from their Runtime only', () => {
    const pattern =
      /\b(setTimeout|setInterval|setImmediate|Date\.now|performance\.now|Math\.random|hrtime)\b|\bnew Date\(\)/
    expect(offenders(library(...CORE, 'locks', 'kit'), pattern)).toEqual([])
  })

  test('stores do not ask the wall clock', () => {
    expect(offenders(library('stores', 'clients'), /\bDate\.now\b|\bnew Date\(\)/)).toEqual([])
  })

  test('core knows no store, a store knows no lock, a client knows nothing but errors and deadlines', () => {
    const at = (...folders: readonly string[]): string[] => folders.map((folder) => `${LIBRARY}/${folder}`)
    const above = at('cli/', 'worker/', 'holdfast.ts', 'open.ts', 'index.ts', 'internal.ts')
    expect(reach(library(...CORE), ...above, ...at('stores/', 'clients/', 'locks/', 'kit/'))).toEqual([])
    expect(reach(library('locks', 'kit'), ...above, ...at('stores/', 'clients/'))).toEqual([])
    expect(reach(library('stores'), ...above, ...at('locks/', 'kit/'))).toEqual([])
    const stores = ['memory', 'sqlite', 'redis', 'redlock', 'etcd', 'zookeeper', 'sql', 'postgres', 'mysql']
    const others = at(...stores.map((store) => `stores/${store}/`), 'locks/', 'kit/')
    expect(reach(library('clients'), ...above, ...others)).toEqual([])
  })

  test('the library knows no laboratory, and the laboratory uses it as a package', () => {
    expect(
      reach(inside('packages/holdfast/src', 'packages/holdfast/conformance'), 'packages/holdfast-lab', 'holdfast'),
    ).toEqual([])
    expect(reach(inside(LABORATORY, CONSOLE), 'packages/holdfast/')).toEqual([])
    expect(reach(inside(CONSOLE), 'packages/holdfast-lab')).toEqual([])
  })

  test('only command lines, the demonstration and scripts write to the console', () => {
    const folders = '(src/(cli|demonstration|\\w+/main\\.ts)|test|simulation|fuzz)'
    const loud = new RegExp(`^(packages/[a-z-]+/${folders}|scripts|bench|test|examples)\\b`)
    const quiet = sources.filter(({ path }) => !loud.test(path))
    expect(quiet.length).toBeGreaterThan(300)
    expect(offenders(quiet, /\bconsole\.|process\.stdout\.write/)).toEqual([])
  })

  test('no error is swallowed whole, no test is switched off, nothing is left for later', () => {
    const swallows = /catch\s*(\(\w*\))?\s*\{\s*\}|\.catch\(\(\)\s*=>\s*(\{\}|undefined|null)\)/
    expect(offenders(inside(LIBRARY, LABORATORY, CONSOLE), swallows)).toEqual([])
    expect(offenders(inside(...TESTS), /\b(it|test|describe)\.(skip|only|todo)\b/)).toEqual([])
    expect(sources.filter(({ text }) => /\b(TODO|FIXME|XXX|HACK)\b:/.test(text)).map(({ path }) => path)).toEqual([])
  })

  test('the glossary has at most 40 words, each once', () => {
    const page = documents.find(({ path }) => path === 'docs/explain/glossary.md')?.text ?? ''
    const words = [...page.matchAll(/^\| (\S+) +\|/gm)].map((match) => match[1] as string)
    const defined = words.filter((word) => word !== 'word' && !/^-+$/.test(word))
    expect(defined.length).toBeGreaterThan(30)
    expect(defined.length).toBeLessThanOrEqual(GLOSSARY_MAX)
    expect(new Set(defined).size).toBe(defined.length)
  })

  test('one word for one thing: what the glossary replaced names no file and nothing that is exported', () => {
    const named = inside(LIBRARY).filter(({ path }) => REPLACED.test(path.slice(path.lastIndexOf('/') + 1)))
    expect(named.map(({ path }) => path)).toEqual([])
    const exported = inside(LIBRARY).flatMap((source) => exportsOf(source))
    expect(exported.length).toBeGreaterThan(300)
    expect(exported.filter((name) => REPLACED.test(hyphened(name)))).toEqual([])
  })

  test('every file name is built from the glossary, or from the plain words that were agreed on', () => {
    const page = documents.find(({ path }) => path === 'docs/explain/glossary.md')?.text ?? ''
    const stem = (word: string): string => word.replaceAll('-', '').replace(/s$/, '')
    const glossary = new Set([...page.matchAll(/^\| (\S+) +\|/gm)].map((match) => stem(match[1] as string)))
    // A word that is new here must not mean what another one means already: whoever adds it reads the list.
    const plain = new Set(readFileSync(`${ROOT}test/file-words.txt`, 'utf8').split(/\s+/).filter(Boolean))
    const names = inside(LIBRARY).map(({ path }) => path.slice(path.lastIndexOf('/') + 1))
    const words = new Set(names.flatMap((name) => name.replace(/(\.generated)?(\.d)?\.ts$/, '').split('-')))
    const ours = [...words].filter((word) => !glossary.has(stem(word)))
    expect(ours.filter((word) => !plain.has(word))).toEqual([])
    expect([...plain].filter((word) => !ours.includes(word))).toEqual([])
  })

  test('no exported class or interface stands for two things', () => {
    // Stores and clients do the same job under the same name. Elsewhere a name belongs to one part of the library, or
    // to files of the same name: cleanup.ts of core and of ZooKeeper.
    const homes = new Map<string, { readonly part: string; readonly file: string }[]>()
    for (const source of inside(LIBRARY)) {
      const [part = '', file = ''] = [source.path.split('/')[3], source.path.split('/').at(-1)]
      for (const name of exportsOf(source)) homes.set(name, [...(homes.get(name) ?? []), { part, file }])
    }
    const doubled = [...homes].filter(
      ([, found]) => new Set(found.map(({ part }) => part)).size > 1 && new Set(found.map(({ file }) => file)).size > 1,
    )
    expect(doubled.map(([name]) => name)).toEqual([])
  })

  test('every store has its index and its opener, and is registered', () => {
    const registry = read(`${LIBRARY}/stores/registry.ts`)
    const folders = new Set(library('stores').map(({ path }) => path.split('/')[4] as string))
    const stores = [...folders].filter((name) => !name.includes('.') && name !== 'shared' && name !== 'sql')
    expect(stores.length).toBeGreaterThan(7)
    for (const store of stores) {
      expect(paths).toContain(`${LIBRARY}/stores/${store}/index.ts`)
      expect(paths).toContain(`${LIBRARY}/stores/${store}/open.ts`)
      expect(registry.imports).toContain(`./${store}/open.ts`)
    }
  })

  test('a test stands where the files stand that it tests', () => {
    const tests = paths.filter((path) => /^packages\/.*\.test\.ts$/.test(path))
    expect(tests.length).toBeGreaterThan(200)
    const lost = tests.filter((path) => {
      const [home, name] = path.split('/test/') as [string, string]
      const folder = name.slice(0, Math.max(0, name.lastIndexOf('/')))
      return !paths.some((other) => other.startsWith(`${home}/src/${folder}`) || other.startsWith(`${home}/${folder}`))
    })
    expect(lost).toEqual([])
  })

  test('no Manager, Helper or utils', () => {
    expect(paths.filter((path) => /(manager|helper|utils?)\.(ts|js)$/i.test(path))).toEqual([])
    expect(offenders(inside(LIBRARY, LABORATORY), /\bclass \w*(Manager|Helper)\b/)).toEqual([])
  })

  test('the library has no dependencies; the packages that it uses are its optional peers', () => {
    const { dependencies, optionalDependencies, scripts, peerDependencies, peerDependenciesMeta } = manifest()
    expect({ dependencies, optionalDependencies, scripts }).toEqual({})
    const loaded = inside(LIBRARY).flatMap((source) =>
      [...code(source).matchAll(/\bloadPeer\('([^']+)'/g)].map((m) => m[1] as string),
    )
    // Of these only the user's own clients are used: no file of ours loads them.
    const used = new Set([...foreign(inside(LIBRARY)), ...loaded, '@redis/client', 'redis'])
    expect([...used].toSorted()).toEqual(Object.keys(peerDependencies ?? {}).toSorted())
    const optional = Object.entries(peerDependenciesMeta ?? {}).filter(([, meta]) => meta.optional)
    expect(optional.map(([peer]) => peer).toSorted()).toEqual(Object.keys(peerDependencies ?? {}).toSorted())
  })

  test("the library's entry loads no client, and of the stores only how they are opened", () => {
    const entry = new Set<string>()
    const follow = (path: string): void => {
      if (entry.has(path)) return
      entry.add(path)
      const source = read(path)
      for (const [, name] of code(source).matchAll(/^(?:import|export)(?! type)[^']*from '(\.[^']+)'/gm)) {
        follow(new URL(name as string, `file:///${path}`).pathname.slice(1))
      }
    }
    follow(`${LIBRARY}/index.ts`)
    const openers = /\/stores\/(registry|shared\/(seen|shape)|[a-z]+\/(open|given))\.ts$/
    expect([...entry].filter((path) => /\/(stores|clients|cli)\//.test(path) && !openers.test(path))).toEqual([])
  })

  test('every mutation still applies, and the table of rules and tests is up to date', () => {
    const { stderr } = spawnSync(process.execPath, ['scripts/mutate.js', '--check'], { cwd: ROOT, encoding: 'utf8' })
    expect(stderr.trim().split('\n')).toEqual([''])
  })

  test('the map in docs/explain/architecture.md is what the imports say', () => {
    const { stderr } = spawnSync(process.execPath, ['scripts/map.js', '--check'], { cwd: ROOT, encoding: 'utf8' })
    expect(stderr.trim()).toBe('')
  })

  test('package.json exports what scripts/entries.json lists', () => {
    const { stderr } = spawnSync(process.execPath, ['scripts/exports.js', '--check'], { cwd: ROOT, encoding: 'utf8' })
    expect(stderr.trim()).toBe('')
  })

  test('the public names are those of the reviewed list', async () => {
    // After a review: npx vitest run --project unit test/house-rules.test.ts -u
    await expect(publicNames()).toMatchFileSnapshot('public-api.txt')
  })
})

interface Manifest {
  readonly dependencies?: unknown
  readonly optionalDependencies?: unknown
  readonly scripts?: unknown
  readonly peerDependencies?: Record<string, string>
  readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(`${ROOT}packages/holdfast/package.json`, 'utf8')) as Manifest
}

/** The packages that they import, Node's own left out. */
function foreign(among: readonly Source[]): string[] {
  const names = among.flatMap(({ imports }) => imports).filter((name) => !/^(\.|node:)/.test(name))
  return [...new Set(names.map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')))].toSorted()
}

/** Every name that a user can import, by subpath. */
function publicNames(): string {
  const { entries: sources } = JSON.parse(readFileSync(`${ROOT}scripts/entries.json`, 'utf8')) as {
    readonly entries: Record<string, string>
  }
  const entries = Object.entries(sources).flatMap(([name, source]) =>
    name === 'internal'
      ? []
      : [{ subpath: name === 'index' ? '.' : `./${name}`, file: `${ROOT}packages/holdfast/${source}.ts` }],
  )
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
