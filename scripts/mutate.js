/**
 * `npm run mutate -- [RULE]`: breaks the product by hand, one line at a time, in a copy, and shows that the named test
 * fails. The mutations are in scripts/mutations/*.js; docs/explain/mutations.md and the table in docs/explain/laws.md
 * are made of them.
 *
 *   npm run mutate                 all of them (long: each runs its test)
 *   npm run mutate -- 3            the mutations of rule 3, of every store
 *   npm run mutate -- '3 etcd'     those of rule 3 for etcd
 *   npm run mutate -- NAME         the one of that name; also the name of a file of scripts/mutations
 *     --quick    does not first see each test pass without a mutation
 *     --list     prints rule, name, test and what is broken, and runs nothing
 *     --check    each still applies, every rule of the laws has one, and both pages are up to date (a house rule)
 *     --table    writes both pages anew
 */
import { parseArgs } from 'node:util'
import { copyOfTree } from './mutate/copy.js'
import { writePages } from './mutate/pages.js'
import { runTest } from './mutate/run-test.js'
import { chosen, mutations, problems, rows } from './mutate/table.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
  },
})

const all = await mutations()
if (values.table) {
  writePages(all)
} else if (values.check) {
  const found = problems(all)
  for (const problem of found) console.error(problem)
  process.exitCode = found.length === 0 ? 0 : 1
} else {
  const wanted =
    positionals.length === 0 ? all : all.filter((mutation) => positionals.some((word) => chosen(mutation, word)))
  if (wanted.length === 0) {
    console.error(`no mutation has the rule, the name or the file ${positionals.join(', ')}; --list shows all`)
    process.exitCode = 64
  } else if (values.list) {
    for (const row of rows(wanted)) console.log(row.join(' · '))
  } else {
    process.exitCode = await killAll(wanted)
  }
}

/**
 * Each mutation in turn; 0 if its test killed every one.
 * @param {readonly import('./mutate/table.js').Mutation[]} wanted
 */
async function killAll(wanted) {
  const copy = await copyOfTree()
  try {
    const green = values.quick ? null : await greenTests(copy, wanted)
    let killed = 0
    for (const mutation of wanted) {
      const verdict = await judge(copy, mutation, green)
      if (verdict.word === 'killed') killed++
      const says = verdict.word === 'killed' ? verdict.by : verdict.why
      console.log(
        `${verdict.word === 'killed' ? '✓' : '✗'} ${verdict.word}: ${mutation.rule} · ${mutation.name} ` +
          `(${brief(says)})`,
      )
    }
    console.log(`${killed} of ${wanted.length} killed`)
    return killed === wanted.length ? 0 : 1
  } finally {
    copy.remove()
  }
}

/**
 * The tests that pass without a mutation: a test that fails anyway proves nothing.
 * @param {import('./mutate/copy.js').Copy} copy
 * @param {readonly import('./mutate/table.js').Mutation[]} wanted
 */
async function greenTests(copy, wanted) {
  const green = new Map()
  for (const { test, only } of wanted) {
    const key = JSON.stringify([test, only])
    if (green.has(key)) continue
    if (test.endsWith('.real.test.ts')) copy.build()
    const result = await runTest(copy.path, test, only)
    green.set(key, result)
    if (result.outcome !== 'passed')
      console.log(`✗ not green without a mutation: ${test} ${only ?? ''}\n${result.says}`)
  }
  return green
}

/**
 * @param {import('./mutate/copy.js').Copy} copy
 * @param {import('./mutate/table.js').Mutation} mutation
 * @param {ReadonlyMap<string, { outcome: string }> | null} green
 * @returns {Promise<{ word: string, why?: string, by?: string }>}
 */
async function judge(copy, mutation, green) {
  const { test, only } = mutation
  if (green !== null && green.get(JSON.stringify([test, only]))?.outcome !== 'passed') {
    return { word: 'no verdict', why: 'its test is not green without it' }
  }
  const refused = copy.apply(mutation)
  try {
    if (refused !== null) return { word: 'does not apply', why: refused }
    const faults = copy.faults()
    if (faults !== null) return { word: 'does not compile', why: faults }
    if (test.endsWith('.real.test.ts')) copy.build()
    const result = await runTest(copy.path, test, only)
    if (result.outcome === 'failed') return { word: 'killed', by: result.says }
    if (result.outcome === 'passed') return { word: 'SURVIVED', why: `${test} stays green` }
    return { word: 'no verdict', why: result.says }
  } finally {
    copy.restore()
  }
}

/** @param {string} text */
function brief(text) {
  const line = text.trim().replaceAll(/\s+/g, ' ')
  return line.length > 240 ? `${line.slice(0, 240)}…` : line
}
