/**
 * What package.json of holdfast says of its entries, by scripts/entries.json: `exports`, and for TypeScript's oldest
 * resolution `typesVersions`. The build writes it; `node scripts/exports.js` does that alone, and
 * with --check only says whether it is needed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FILE = fileURLToPath(new URL('../packages/holdfast/package.json', import.meta.url))
const ENTRIES = fileURLToPath(new URL('entries.json', import.meta.url))

/** @param {Record<string, string>} entries */
export function exportsOf(entries) {
  const exported = Object.fromEntries(Object.keys(entries).map((name) => [subpathOf(name), formsOf(name)]))
  const exports = { ...exported, './worker': './dist/worker.cjs', './package.json': './package.json' }
  return { exports, write: () => write(exports) }
}

/**
 * A replacement for another package is an entry below `compat/`; its files have no folder of their own.
 * @param {string} name
 */
function subpathOf(name) {
  return name === 'index' ? '.' : `./${name.replace(/^compat-/, 'compat/')}`
}

/** @param {string} name */
function formsOf(name) {
  const form = (/** @type {string} */ types, /** @type {string} */ code) =>
    name === 'internal'
      ? `./dist/${name}${code}`
      : { types: `./dist/${name}${types}`, default: `./dist/${name}${code}` }
  return { import: form('.d.ts', '.js'), require: form('.d.cts', '.cjs') }
}

/**
 * Replaces the block only: the rest of the file stays as people wrote it.
 * @param {object} exports
 */
function write(exports) {
  const before = readFileSync(FILE, 'utf8')
  const block = `"exports": ${JSON.stringify(exports, null, 2).replaceAll('\n', '\n  ')}`
  const after = before.replace(/"exports": \{\n[\s\S]*?\n  \}(?=,?\n)/, () => block)
  if (after !== before) writeFileSync(FILE, after)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const made = exportsOf(JSON.parse(readFileSync(ENTRIES, 'utf8')).entries)
  if (!process.argv.includes('--check')) made.write()
  else if (JSON.stringify(JSON.parse(readFileSync(FILE, 'utf8')).exports) !== JSON.stringify(made.exports)) {
    console.error(
      'packages/holdfast/package.json does not export what scripts/entries.json lists: node scripts/exports.js',
    )
    process.exitCode = 1
  }
}
