/**
 * Makes packages/holdfast/dist, which is what users install, of build: for each entry and program of
 * scripts/entries.json one file of code and one of types, and what several share in files of its own. All lie in one
 * folder, so that a program finds its neighbours (guardian.js, worker.js, client.js) under the same name as in the
 * sources.
 *   --no-types   leaves the types out: enough for tests
 */
import { readFileSync, rmSync } from 'node:fs'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { minify } from 'terser'

const PACKAGE = 'packages/holdfast'
const { entries, programs } = JSON.parse(readFileSync('scripts/entries.json', 'utf8'))
const PRIVATE = '$private$'
const external = (id) => !/^(\.|\/|packages\/)/.test(id)

rmSync(`${PACKAGE}/dist`, { recursive: true, force: true })
await bundle({ ...entries, ...programs }, 'build/', '.js', [{ name: 'shorten', renderChunk: shortened }])
if (!process.argv.includes('--no-types')) {
  const typed = Object.fromEntries(Object.entries(entries).filter(([name]) => name !== 'internal'))
  await bundle(typed, '', '.ts', [dts({ tsconfig: 'tsconfig.json' })])
}

/**
 * @param {Record<string, string>} input
 * @param {string} folder
 * @param {'.js' | '.ts'} ending
 * @param {import('rollup').Plugin[]} plugins
 */
async function bundle(input, folder, ending, plugins) {
  const files = Object.entries(input).map(([name, path]) => [name, `${PACKAGE}/${folder}${path}${ending}`])
  const made = await rollup({
    input: Object.fromEntries(files),
    external,
    plugins,
    // The compiler's helper for computed imports asks for `this`, and works without it.
    onwarn: (warning, tell) => (warning.code === 'THIS_IS_UNDEFINED' ? undefined : tell(warning)),
  })
  const suffix = ending === '.ts' ? '.d.ts' : ending
  await made.write({
    dir: `${PACKAGE}/dist`,
    entryFileNames: `[name]${suffix}`,
    chunkFileNames: `shared-[hash]${suffix}`,
    // Names as they are written: a reader of a stack trace finds them in the sources.
    minifyInternalExports: false,
    hoistTransitiveImports: false,
    indent: false,
  })
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
    parse: { module: true },
    compress: false,
    mangle: { keep_fnames: true, keep_classnames: true, reserved: functions },
    format: { semicolons: false, max_line_len: 120 },
  })
  return { code: short.replaceAll(PRIVATE, '#'), map: null }
}
