/**
 * docs/reference/versions.md: rows of this run replace those of the same server, client and runtime; all others stay.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const BEGIN = '<!-- matrix begins; written by npm run matrix -->'
const END = '<!-- matrix ends -->'
const HEADS = ['server', 'version', 'client', 'runtime', 'passed', 'failed', 'run on']

/**
 * @typedef {{ readonly server: string, readonly version: string, readonly client: string, readonly runtime: string,
 *   readonly passed: string, readonly failed: string, readonly date: string }} Row
 */

/** @param {Row} row */
const cells = ({ server, version, client, runtime, passed, failed, date }) => [
  server,
  version,
  client,
  runtime,
  passed,
  failed,
  date,
]

/** As the formatter has it. @param {readonly (readonly string[])[]} rows */
function table(rows) {
  const widths = HEADS.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (/** @type {readonly string[]} */ row) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  return [line(HEADS), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}

/** A newer patch of the same version takes the older one's row. @param {readonly string[]} row */
function keyOf([server = '', version = '', client, runtime = '']) {
  const series = (/** @type {string} */ text) =>
    text
      .split('.')
      .slice(0, server === 'PostgreSQL' ? 1 : 2)
      .join('.')
  return [server, series(version), client, runtime.split('.')[0]].join(' ')
}

/** @param {readonly string[]} a @param {readonly string[]} b */
function byName(a, b) {
  return cells4(a).localeCompare(cells4(b), 'en', { numeric: true })
}

const cells4 = (/** @type {readonly string[]} */ row) => row.slice(0, 4).join(' ')

/**
 * @param {string} file
 * @param {readonly Row[]} fresh
 */
export function writePage(file, fresh) {
  const text = readFileSync(file, 'utf8')
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`${file} has no place for the table: ${BEGIN} … ${END}`)
  const kept = text
    .slice(from, to)
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (server|-+) /.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  const rows = new Map([...kept, ...fresh.map(cells)].map((row) => [keyOf(row), row]))
  const block = [BEGIN, '', ...table([...rows.values()].toSorted(byName)), '', END].join('\n')
  writeFileSync(file, text.slice(0, from) + block + text.slice(to + END.length))
}
