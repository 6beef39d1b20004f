/**
 * Makes packages/holdfast/dist, which is what users install, of build. Its code stands there once, as CommonJS, which
 * `import`, `require`, Jest and every bundler can load; docs/decisions/020-modules.md says why. For each entry and
 * program of scripts/entries.json there is one file of code (`.cjs`), and what several share in files of its own. An
 * entry also has a thin ES module that passes its names on (`.js`), and types for both (`.d.cts`, `.d.ts`).
 *   --no-types   leaves the types out: enough for tests
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { minify } from 'terser'
import { exportsOf } from './exports.js'

const PACKAGE = 'packages/holdfast'
const DIST = `${PACKAGE}/dist`
const { entries, programs } = JSON.parse(readFileSync('scripts/entries.json', 'utf8'))
const load = createRequire(import.meta.url)
const PRIVATE = '$private$'

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
  // In Node what is imported by default from CommonJS is the module itself.
  interop: 'default',
  entryFileNames: '[name].cjs',
  chunkFileNames: 'shared-[hash].cjs',
  plugins: [
    {
      name: 'for-every-loader',
      resolveImportMeta: (property) => (property === 'url' ? HERE : null),
      renderChunk: async (code) => ({ code: withoutRequireOfNode(await shortened(code)), map: null }),
    },
  ],
  minifyInternalExports: true,
})
for (const name of Object.keys(entries)) writeFileSync(`${DIST}/${name}.js`, moduleOf(name))

if (!process.argv.includes('--no-types')) {
  const typed = Object.fromEntries(Object.entries(entries).filter(([name]) => name !== 'internal'))
  const types = await bundle(typed, '', '.ts', [dts({ tsconfig: 'tsconfig.json' })])
  await types.write({ dir: DIST, entryFileNames: '[name].d.cts', chunkFileNames: 'shared-[hash].d.cts', indent: false })
  for (const name of Object.keys(typed)) writeFileSync(`${DIST}/${name}.d.ts`, typesOf(name))
}
exportsOf(entries).write()

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

/** @param {string} name */
function typesOf(name) {
  const { main } = namesOf(name)
  const from = `./${name.split('/').at(-1)}.cjs`
  return `export * from '${from}'\n${main === undefined ? '' : `export { ${main} as default } from '${from}'\n`}`
}

/**
 * What a stack trace shows stays: classes, functions, private methods, and lines of at most 120 columns to point at.
 * The names of local variables and white space go, which is a seventh of the package. Terser would rename private
 * methods too, so they look like public ones while it works.
 * @param {string} code
 */
async function shortened(code) {
  const hidden = code.replaceAll(/#(?=[a-zA-Z_])/g, PRIVATE)
  const functions = [...hidden.matchAll(/\b(?:const|let) (\w+) = (?:async )?(?:\([^()]*\)|\w+) =>/g)].map((m) => m[1])
  const { code: short } = await minify(hidden, {
    ecma: 2022,
    compress: { keep_fnames: true, keep_classnames: true, inline: false, reduce_funcs: false, sequences: false },
    mangle: { keep_fnames: true, keep_classnames: true, reserved: functions },
    format: { semicolons: false, max_line_len: 120 },
  })
  return /** @type {string} */ (short).replaceAll(PRIVATE, '#')
}
