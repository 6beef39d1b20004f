/**
 * The two texts that are made of the mutations: docs/explain/mutations.md, and the part of docs/explain/laws.md between
 * its markers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @typedef {import('./table.js').Mutation} Mutation */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGE = 'docs/explain/mutations.md'
const LAWS = 'docs/explain/laws.md'
const BEGIN = '<!-- mutations: written by `npm run mutate -- --table` -->\n'
const END = '<!-- end of mutations -->\n'
const WIDTH = 120

const HEAD = `# Rules, tests, mutations

\`npm run mutate -- --table\` writes this page from \`scripts/mutations/*.js\`. Do not edit it by hand.

Each entry is a way to break the product, and the test that fails then. \`npm run mutate -- NAME\` breaks it in a copy
and runs that test; \`npm run mutate -- 3\` does so for all of rule 3. [laws.md](laws.md#rules-that-keep-it-safe) has
the numbered rules.
`

/** As people write them; entries say \`3 etcd\` or \`18 Redis\`. */
const STORES = new Map(
  ['memory', 'SQLite', 'Redis', 'Redlock', 'etcd', 'ZooKeeper', 'PostgreSQL', 'MySQL'].map((name) => [
    name.toLowerCase(),
    name,
  ]),
)
STORES.set('postgres', 'PostgreSQL')

/** @param {readonly Mutation[]} all */
export function writePages(all) {
  for (const [file, text] of texts(all)) writeFileSync(join(ROOT, file), text)
}

/** The pages that differ from the mutations. @param {readonly Mutation[]} all */
export function stalePages(all) {
  return texts(all).flatMap(([file, text]) => (read(file) === text ? [] : [file]))
}

/** Rules of docs/explain/laws.md for which there is no mutation. @param {readonly Mutation[]} all */
export function unheldRules(all) {
  const section = read(LAWS).split('\n## Rules that keep it safe\n')[1] ?? ''
  const numbers = [...section.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => number)
  const held = new Set(all.map(({ rule }) => rule.split(' ')[0]))
  return numbers.filter((number) => !held.has(number))
}

/** @param {readonly Mutation[]} all @returns {[string, string][]} */
function texts(all) {
  const laws = read(LAWS)
  const [begin, end] = [laws.indexOf(BEGIN), laws.indexOf(END)]
  if (begin === -1 || end < begin) throw new Error(`${LAWS} has lost the markers of the mutations`)
  return [
    [PAGE, HEAD + [...byRule(all)].map(([rule, entries]) => chapter(rule, entries)).join('')],
    [LAWS, laws.slice(0, begin + BEGIN.length) + tableOf(all) + laws.slice(end)],
  ]
}

/** @param {string} rule @param {readonly Mutation[]} entries */
function chapter(rule, entries) {
  const lines = entries.map((entry) => {
    const where = storeOf(entry)
    const says = where === '' || entry.says.startsWith(`${where}: `) ? entry.says : `${where}: ${entry.says}`
    return item(`\`${entry.name}\`: ${says}. Test: ${testOf(entry)}.`)
  })
  return `\n## ${/^\d/.test(rule) ? `Rule ${rule}` : rule}\n\n${lines.join('')}`
}

/** Numbered rules only: a rule, the mutation that breaks it, the test that fails. @param {readonly Mutation[]} all */
function tableOf(all) {
  return [...byRule(all)]
    .filter(([rule]) => /^\d/.test(rule))
    .map(([rule, entries]) => {
      const lines = entries.map((entry) => {
        const where = storeOf(entry)
        return item(`\`${entry.name}\`${where === '' ? '' : ` (${where})`}: ${testOf(entry)}`, '  ')
      })
      return `- Rule ${rule}\n${lines.join('')}`
    })
    .join('')
}

/** @param {readonly Mutation[]} all @returns {Map<string, Mutation[]>} */
function byRule(all) {
  const groups = new Map()
  for (const entry of all) {
    const { subject } = words(entry)
    groups.set(subject, [...(groups.get(subject) ?? []), entry])
  }
  return groups
}

/** @param {Mutation} entry */
function storeOf(entry) {
  return words(entry).store
}

/** A rule is a number or a subject, with the store before or behind it. @param {Mutation} entry */
function words({ rule }) {
  const all = rule.split(' ')
  const store = all.map((word) => STORES.get(word.toLowerCase())).find((name) => name !== undefined) ?? ''
  const subject = all.filter((word) => !STORES.has(word.toLowerCase())).join(' ')
  return { store, subject: subject.charAt(0).toUpperCase() + subject.slice(1) }
}

/** @param {Mutation} entry */
function testOf({ test, only }) {
  return only === undefined ? test : `${test}, "${only}"`
}

/** An item of a list. @param {string} text @param {string} [indent] */
function item(text, indent = '') {
  let [line, out] = [`${indent}-`, '']
  for (const word of text.replaceAll('\n', ' ').split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      out += `${line}\n`
      line = `${indent}  ${word}`
    } else {
      line += ` ${word}`
    }
  }
  return `${out}${line}\n`
}

/** @param {string} file */
function read(file) {
  return readFileSync(join(ROOT, file), 'utf8')
}
