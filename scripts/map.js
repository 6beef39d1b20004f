/**
 * `npm run map`: draws which part of the house imports which, from the imports themselves, into
 * docs/explain/architecture.md.
 *   --check   tells whether the drawing there is still true (a house rule)
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGE = `${ROOT}docs/explain/architecture.md`
const [BEGIN, END] = ['<!-- map begins; written by npm run map -->', '<!-- map ends -->']
const PACKAGES = {
  'packages/holdfast/src': 'holdfast',
  'packages/holdfast-lab/src': 'holdfast-lab',
  'packages/holdfast-console/src': 'holdfast-console',
}

/** Each package has a folder `cli`. */
const CLIS = { holdfast: 'cli', 'holdfast-lab': 'lab cli', 'holdfast-console': 'console cli' }

/** Files at the root of holdfast that users import. The other files there belong to the contract. */
const ENTRIES = new Set(['index.ts', 'core.ts', 'holdfast.ts', 'open.ts'])

/**
 * @typedef {{ name: string, home: string, uses: Set<string>, loads: Set<string> }} Part What it imports, and what it
 * loads when it is needed.
 */

const page = readFileSync(PAGE, 'utf8')
const drawn = `${page.slice(0, page.indexOf(BEGIN))}${BEGIN}\n\n${drawing(parts())}\n${page.slice(page.indexOf(END))}`
if (!process.argv.includes('--check')) writeFileSync(PAGE, drawn)
else if (drawn !== page) {
  console.error('the map in docs/explain/architecture.md is not up to date: npm run map')
  process.exitCode = 1
}

/** Every folder of the packages, with the imports of its files. Each store and each client is a part of its own. */
function parts() {
  /** @type {Map<string, Part>} */
  const found = new Map()
  const list = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', ...Object.keys(PACKAGES)],
    {
      cwd: ROOT,
    },
  )
  for (const path of new Set(list.toString().trim().split('\n'))) {
    if (!path.endsWith('.ts')) continue
    const part = partOf(path)
    const text = readFileSync(`${ROOT}${path}`, 'utf8')
    const known = found.get(part.name) ?? { ...part, uses: new Set(), loads: new Set() }
    found.set(part.name, known)
    for (const [, name] of text.matchAll(/^(?:import|export|\}) .*?from '([^'\\]+)'/gm)) add(known.uses, path, name)
    for (const [, name] of text.matchAll(/\bimport\('([^'\\]+)'\)/g)) add(known.loads, path, name)
  }
  return found
}

/**
 * @param {Set<string>} uses
 * @param {string} path
 * @param {string} name
 */
function add(uses, path, name) {
  const target = targetOf(path, name)
  if (target !== null && target !== partOf(path).name) uses.add(target)
}

/** @param {string} path */
function partOf(path) {
  const [folder, home] = Object.entries(PACKAGES).find(([start]) => path.startsWith(`${start}/`))
  const [first, second, third] = path.slice(folder.length + 1).split('/')
  if (second === undefined && home !== 'holdfast')
    return { name: home === 'holdfast-lab' ? 'programs' : 'console', home }
  if (second === undefined) return { name: rootPart(first), home }
  const isSplit = (first === 'stores' || first === 'clients') && third !== undefined
  return { name: isSplit ? `${first}/${second}` : first === 'cli' ? CLIS[home] : first, home }
}

/** @param {string} file */
function rootPart(file) {
  if (file === 'internal.ts') return 'internal'
  return ENTRIES.has(file) ? 'entries' : 'contract'
}

/**
 * @param {string} path
 * @param {string} name
 */
function targetOf(path, name) {
  if (name.startsWith('.')) return partOf(posix.join(posix.dirname(path), name)).name
  if (name === 'holdfast/internal') return 'internal'
  return name === 'holdfast' || name.startsWith('holdfast/') ? 'entries' : null
}

/**
 * Mermaid, which code hosts draw. An arrow that follows from others is left out; a dotted one is loaded only when it is
 * needed.
 * @param {ReadonlyMap<string, Part>} all
 */
function drawing(all) {
  const id = (name) => name.replaceAll(/\W/g, '_')
  const names = [...all.keys()].toSorted()
  const out = ['```mermaid', 'flowchart TD']
  for (const home of Object.values(PACKAGES)) {
    out.push(`  subgraph ${id(home)}["${home}"]`)
    for (const name of names) {
      if (all.get(name).home === home) out.push(`    ${id(name)}["${name}"]`)
    }
    out.push('  end')
  }
  for (const name of names) {
    const { uses, loads } = all.get(name)
    for (const target of names.filter((other) => uses.has(other))) {
      if (!isImplied(all, name, target)) out.push(`  ${id(name)} --> ${id(target)}`)
    }
    for (const target of names.filter((other) => loads.has(other))) {
      if (!uses.has(target)) out.push(`  ${id(name)} -.-> ${id(target)}`)
    }
  }
  return [...out, '```', ''].join('\n')
}

/**
 * Whether the target can also be reached by another import.
 * @param {ReadonlyMap<string, Part>} all
 * @param {string} name
 * @param {string} target
 */
function isImplied(all, name, target) {
  return [...all.get(name).uses].some((via) => via !== target && reaches(all, via, target, new Set([name])))
}

/**
 * @param {ReadonlyMap<string, Part>} all
 * @param {string} from
 * @param {string} to
 * @param {Set<string>} seen
 */
function reaches(all, from, to, seen) {
  if (seen.has(from)) return false
  seen.add(from)
  const uses = all.get(from)?.uses ?? new Set()
  return uses.has(to) || [...uses].some((next) => reaches(all, next, to, seen))
}
