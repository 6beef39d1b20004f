/**
 * Makes packages/holdfast-console/dist: the server by tsc, the page with all its parts in one script and one style
 * sheet.
 */
import { copyFileSync } from 'node:fs'
import { build } from 'esbuild'
import { runSteps } from './run.js'

const PACKAGE = 'packages/holdfast-console'

runSteps([["build of the console's server", 'tsc', '-p', `${PACKAGE}/tsconfig.build.json`]])
await build({
  entryPoints: [
    { in: `${PACKAGE}/page/main.tsx`, out: 'page' },
    { in: `${PACKAGE}/page/page.css`, out: 'page' },
  ],
  outdir: `${PACKAGE}/dist/page`,
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'eof',
  logLevel: 'warning',
})
copyFileSync(`${PACKAGE}/page/index.html`, `${PACKAGE}/dist/page/index.html`)
