/**
 * `npm run spin`: searches every state of small worlds of Redlock with Spin, and refutes the simpler schemes. With
 * `--deep` larger worlds, with `--only NAME` one of them; `--write` writes the counter-examples to
 * promela/counter-examples. Exits with 1 if a law is broken that must hold, or holds where it must be broken.
 */
import { writeFile } from 'node:fs/promises'
import { requireTools } from '../testbed/require.ts'
import { type Configuration, DEEP, FLAWS, SMALL } from './configurations.ts'
import { counterExampleFile, LAWS } from './laws.ts'
import { type Searched, search } from './spin.ts'
import { timelineOf } from './timeline.ts'

function report({ name, about, expected }: Configuration, { states, depth, seconds, found }: Searched): boolean {
  const isAsExpected = found === expected
  const verdict = found === 'none' ? 'no law broken' : `broken: ${found}`
  const counts = `${states} states, ${depth} steps deep, ${seconds.toFixed(1)} s`
  console.log(
    `${isAsExpected ? '✓' : '✗'} ${name}: ${counts}; ${verdict}${expected === 'none' ? '' : ', as it must be'}`,
  )
  console.log(`    ${about}`)
  return isAsExpected
}

const args = process.argv.slice(2)
const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined
const all = [...SMALL, ...DEEP, ...FLAWS]
const chosen =
  only === undefined
    ? [...SMALL, ...FLAWS, ...(args.includes('--deep') ? DEEP : [])]
    : all.filter((one) => one.name === only)
if (chosen.length === 0) throw new Error(`there is no configuration ${JSON.stringify(only)}`)
await requireTools(['spin', 'compiler'])
let states = 0
let isFine = true
for (const each of chosen) {
  const searched = await search(each)
  states += searched.states
  if (!report(each, searched)) isFine = false
  if (searched.found === 'none') continue
  const text = timelineOf(each.about, searched.trail, LAWS[searched.found])
  if (each.expected === 'none' || only !== undefined) console.log(text)
  if (args.includes('--write') && each.expected !== 'none') await writeFile(counterExampleFile(each.name), text)
}
console.log(`${chosen.length} configurations, ${states} states`)
process.exitCode = isFine ? 0 : 1
