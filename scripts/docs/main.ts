/**
 * `npm run docs`: builds the documentation's site into dist/site, from what npm has installed, without the network. A
 * link that leads nowhere, or a public name without a comment, is an error. `npm run docs -- --serve [--port N]` also
 * serves the site, on loopback.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { serve } from './serve.ts'
import { buildSite } from './site.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDER = `${ROOT}dist/site`

const { values } = parseArgs({ options: { serve: { type: 'boolean' }, port: { type: 'string', default: '0' } } })
const started = performance.now()
const { pages, sections, faults } = await buildSite(ROOT, FOLDER)
for (const fault of faults) console.error(`✗ ${fault}`)
const seconds = ((performance.now() - started) / 1000).toFixed(1)
console.log(`${pages.length} pages, ${sections.length} sections to search, in dist/site (${seconds} s)`)
if (values.serve) console.log(`serving ${(await serve(FOLDER, Number(values.port))).url} until Ctrl+C`)
else if (faults.length > 0) process.exitCode = 1
