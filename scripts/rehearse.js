/**
 * Makes `holdfast-lab/rehearse` of packages/holdfast-lab: a test runner may `require` it or `import` it. As with the
 * library, its code stands once, as CommonJS (docs/decisions/020-modules.md).
 *   --no-types   leaves the types out: enough for tests
 */
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

const ENTRY = 'packages/holdfast-lab/src/rehearse/index.ts'
const OUT = 'packages/holdfast-lab/dist/rehearse'

await build({
  entryPoints: [ENTRY],
  outfile: `${OUT}.cjs`,
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  // As packages, not as the sources that tsconfig.json has for them.
  tsconfigRaw: {},
  external: ['holdfast', 'holdfast/*'],
  logLevel: 'warning',
})
const names = Object.keys(createRequire(import.meta.url)(resolve(`${OUT}.cjs`)))
writeFileSync(`${OUT}.js`, `export { ${names.join(', ')} } from './rehearse.cjs'\n`)

if (!process.argv.includes('--no-types')) {
  const types = await rollup({
    input: ENTRY,
    external: (id) => !/^(\.|\/|packages\/)/.test(id),
    plugins: [dts({ compilerOptions: { paths: {} } })],
  })
  await types.write({ file: `${OUT}.d.cts` })
  writeFileSync(`${OUT}.d.ts`, "export * from './rehearse.cjs'\n")
}
