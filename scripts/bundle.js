/**
 * Makes packages/holdfast/dist, which is what users install, of build. Its code stands there once, as CommonJS, which
 * `import`, `require`, Jest and every bundler can load; docs/decisions/020-modules.md says why. For each entry and
 * program of scripts/entries.json there is one file of code (`.cjs`), and what several share in files of its own. An
 * entry also has a thin ES module that passes its names on (`.js`), and types for both (`.d.cts`, `.d.ts`).
 *   --no-types       leaves the types out: enough for tests
 *   --not-shortened  leaves names and white space as they are: takes a third of the time
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { exportsOf } from './exports.js'
import { shortened } from './shorten.js'

const PACKAGE = 'packages/holdfast'
const DIST = `${PACKAGE}/dist`
const { entries, programs } = JSON.parse(readFileSync('scripts/entries.json', 'utf8'))
const load = createRequire(import.meta.url)
const IS_SHORT = !process.argv.includes('--not-shortened')

/**
 * What CommonJS has for `import.meta.url`. In a bundle that is an ES module there is no `__filename`, and no warning of
 * it this way; the few who ask for their own address can do without.
 */
const HERE = '(typeof __filename==="string"?process.getBuiltinModule("node:url").pathToFileURL(__filename).href:"")'

/**
 * Node's own modules are asked for at run time. A `require` of them would be a `Dynamic require of "node:fs" is not
 * supported` in what esbuild makes of CommonJS for an ES module.
 * @param {string} code
 */
function withoutRequireOfNode(code) {
  return code.replace(/require\((['"])(node:[a-z_/]+)\1\)/g, 'process.getBuiltinModule("$2")')
}

rmSync(DIST, { recursive: true, force: true })
const made = await bundle({ ...entries, ...programs }, 'build/', '.js', [])
await made.write({
  dir: DIST,
  format: 'cjs',
  exports: 'named',
  // In Node the default import of a CommonJS file is the module itself.
  interop: 'default',
  entryFileNames: '[name].cjs',
  chunkFileNames: (chunk) => `${chunkName(chunk)}.cjs`,
  plugins: [
    {
      name: 'for-every-loader',
      resolveImportMeta: (property) => (property === 'url' ? HERE : null),
      async renderChunk(code) {
        return { code: withoutRequireOfNode(IS_SHORT ? await shortened(code, this.parse(code)) : code), map: null }
      },
    },
  ],
  minifyInternalExports: true,
  // Otherwise each file would also name the files that its imports name. That helps only browsers.
  hoistTransitiveImports: false,
})
for (const name of Object.keys(entries)) writeFileSync(`${DIST}/${name}.js`, moduleOf(name))

if (!process.argv.includes('--no-types')) {
  const typed = Object.fromEntries(Object.entries(entries).filter(([name]) => name !== 'internal'))
  const types = await bundle(typed, '', '.ts', [declarations()])
  await types.write({
    dir: DIST,
    entryFileNames: '[name].d.cts',
    chunkFileNames: (chunk) => `${chunkName(chunk)}.d.cts`,
    indent: false,
    plugins: [{ name: 'no-headers', renderChunk: (code) => ({ code: withoutHeaders(code), map: null }) }],
  })
  for (const name of Object.keys(typed)) writeFileSync(`${DIST}/${name}.d.ts`, typesOf(name))
}
exportsOf(entries).write()

/** Leaves out what only we may call, such as the constructor of a driver: its parts are not types of the package. */
function declarations() {
  return dts({ tsconfig: 'tsconfig.json', compilerOptions: { stripInternal: true } })
}

/**
 * @param {Record<string, string>} input
 * @param {string} folder
 * @param {'.js' | '.ts'} ending
 * @param {import('rollup').Plugin[]} plugins
 */
function bundle(input, folder, ending, plugins) {
  const files = Object.entries(input).map(([name, path]) => [name, `${PACKAGE}/${folder}${path}${ending}`])
  return rollup({
    input: Object.fromEntries(files),
    external: (id) => !/^(\.|\/|packages\/)/.test(id),
    plugins,
    // The compiler's helper for computed imports asks for `this`, and works without it.
    onwarn: (warning, tell) => (warning.code === 'THIS_IS_UNDEFINED' ? undefined : tell(warning)),
  })
}

/**
 * A file that several entries share is called as the last module in it, without a hash: a stack trace then says where
 * it points. `stores-redis-keys` for `stores/redis/keys`.
 * @param {{ readonly moduleIds: readonly string[] }} chunk
 */
function chunkName({ moduleIds }) {
  const last = moduleIds.at(-1) ?? ''
  const path = last.match(/\/packages\/holdfast\/(?:build\/)?(?:src\/)?(.*)\.[jt]s$/)?.[1] ?? 'shared'
  return path.replaceAll('/', '-')
}

/**
 * The names of an entry, and the one among them that is its default, if it has any.
 * @param {string} name
 */
function namesOf(name) {
  const loaded = load(resolve(`${DIST}/${name}.cjs`))
  const names = Object.keys(loaded).filter((key) => key !== 'default')
  const main = names.find((key) => loaded[key] === loaded.default)
  if ('default' in loaded && main === undefined) throw new Error(`the default export of ${name} needs a name as well`)
  return { names, main }
}

/**
 * The ES module of an entry. By name and not by `*`: what comes by name is found in CommonJS by every loader.
 * @param {string} name
 */
function moduleOf(name) {
  const { names, main } = namesOf(name)
  const all = main === undefined ? names : [...names, `${main} as default`]
  const from = `./${name.split('/').at(-1)}.cjs`
  return all.length === 0 ? `import '${from}'\n` : `export { ${all.join(', ')} } from '${from}'\n`
}

/**
 * Types without the comments that open a source file: they tell a contributor of the file. The doc comment of a name
 * stands right above it, and stays.
 * @param {string} code
 */
function withoutHeaders(code) {
  return code.replace(/^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\n/gm, '')
}

/** @param {string} name */
function typesOf(name) {
  const { main } = namesOf(name)
  const from = `./${name.split('/').at(-1)}.cjs`
  return `export * from '${from}'\n${main === undefined ? '' : `export { ${main} as default } from '${from}'\n`}`
}
