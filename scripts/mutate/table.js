/** The mutations of scripts/mutations/*.js, and whether they still apply. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { stalePages, unheldRules } from './pages.js'

/**
 * @typedef {object} Edit
 * @property {string} file
 * @property {string} find Stands exactly once in the file.
 * @property {string} replace
 *
 * @typedef {object} Mutation
 * @property {string} rule The rule that is broken, by its number in docs/explain/laws.md and the store, or its subject
 * in two words.
 * @property {string} name
 * @property {string} says What is broken, in one line.
 * @property {string} test The file of the test that must fail: of vitest, or
 * packages/holdfast-lab/simulation/locks/main.ts for the simulation.
 * @property {string} [only] The name of the test, or a part of it; for the simulation its seeds.
 * @property {readonly Edit[]} edits
 * @property {string} from The file of scripts/mutations that has it, without `.js`.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'scripts/mutations')
/** @returns {Promise<Mutation[]>} */
export async function mutations() {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.js'))
  const lists = await Promise.all(
    files.map(async (name) => {
      const { default: list } = await import(pathToFileURL(join(FOLDER, name)).href)
      return list.map((given) => whole(given, name.replace(/\.js$/, '')))
    }),
  )
  return lists.flat().toSorted((a, b) => byRule.compare(`${a.rule} ${a.name}`, `${b.rule} ${b.name}`))
}

const byRule = new Intl.Collator('en', { numeric: true })

/** One edit may be given without the list around it. */
function whole(given, from) {
  const { file, find, replace, edits = [{ file, find, replace }], ...rest } = given
  return { ...rest, rule: String(rest.rule), edits, from }
}

/**
 * Whether a word of the command line means this mutation.
 * @param {Mutation} mutation
 * @param {string} word
 */
export function chosen({ rule, name, from }, word) {
  return word === name || word === from || `${rule} `.toLowerCase().startsWith(`${word.toLowerCase()} `)
}

/** @param {readonly Mutation[]} all */
export function rows(all) {
  return all.map(({ rule, name, says, test, only }) => [
    rule,
    says,
    name,
    only === undefined ? test : `${test}: ${only}`,
  ])
}

/**
 * Why an edit can't be made in that tree, or null.
 * @param {string} root
 * @param {Edit} edit
 */
export function refusal(root, { file, find, replace }) {
  if (typeof file !== 'string' || typeof find !== 'string' || typeof replace !== 'string')
    return 'no file, find or replace'
  if (!existsSync(join(root, file))) return `there is no ${file}`
  const times = readFileSync(join(root, file), 'utf8').split(find).length - 1
  return times === 1 ? null : `what it looks for stands ${times} times in ${file}`
}

/**
 * Everything that is wrong with the mutations, and with the pages.
 * @param {readonly Mutation[]} all
 */
export function problems(all) {
  const names = all.map(({ name }) => name)
  const doubled = names.filter((name, index) => names.indexOf(name) !== index)
  const wrong = all.flatMap((mutation) => {
    const missing = ['rule', 'name', 'says', 'test'].filter(
      (key) => typeof mutation[key] !== 'string' || mutation[key] === '',
    )
    const refused = mutation.edits.map((edit) => refusal(ROOT, edit)).filter((why) => why !== null)
    const absent = existsSync(join(ROOT, mutation.test ?? '')) ? [] : [`there is no ${mutation.test}`]
    const said = [...missing.map((key) => `it has no ${key}`), ...refused, ...absent]
    return said.map((why) => `scripts/mutations/${mutation.from}.js: ${mutation.name}: ${why}`)
  })
  const stale = stalePages(all).map((file) => `${file} is not up to date: npm run mutate -- --table`)
  const unheld = unheldRules(all).map((number) => `no mutation breaks rule ${number} of docs/explain/laws.md`)
  return [...doubled.map((name) => `two mutations are named ${name}`), ...wrong, ...stale, ...unheld]
}
