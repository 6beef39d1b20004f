/**
 * `node scripts/audit.js`: what would be installed. The lock file is always judged: every package pinned, with a
 * digest, under a licence that we know, and without a script of its own at installation unless it is listed here.
 * Known vulnerabilities are asked for at the registry. One in what production installs is red. A registry that does not
 * answer is said aloud, and is no fault of the change.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Packages that may run a script of their own at installation, and why. */
const SCRIPTS = new Set(['esbuild']) // checks that its binary runs
/** All of them are our tools: what production installs depends on nothing. */
const LICENCES = new Set([
  ...['MIT', 'ISC', 'Apache-2.0', 'MIT OR Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'BlueOak-1.0.0'],
  ...['Unlicense', 'MPL-2.0', 'LGPL-2.1-or-later', 'LGPL-3.0-only'],
])
const WAIT_MS = 20_000

/**
 * @typedef {object} Package
 * @property {string} [version]
 * @property {string} [resolved]
 * @property {string} [integrity]
 * @property {string} [license]
 * @property {boolean} [link]
 * @property {boolean} [optional]
 * @property {string[]} [cpu]
 * @property {string[]} [os]
 * @property {boolean} [hasInstallScript]
 * @property {Record<string, string>} [devDependencies]
 */

/**
 * @param {Record<string, Package>} packages as package-lock.json has them, by path
 * @returns {string[]} what is wrong, a line each
 */
export function judgeLock(packages) {
  return Object.entries(packages).flatMap(([path, one]) => {
    if (path === '') return judgeRanges(one.devDependencies ?? {})
    if (!path.includes('node_modules/') || one.link === true) return []
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const runs = one.hasInstallScript === true && !SCRIPTS.has(name) ? ['runs a script when it is installed'] : []
    return [...judgePackage(one), ...runs].map((why) => `${name} ${why}`)
  })
}

/** @param {Record<string, string>} ranges */
function judgeRanges(ranges) {
  const loose = Object.entries(ranges).filter(([, range]) => !/^(npm:[^^~*]+@)?\d+\.\d+\.\d+[\w.-]*$/.test(range))
  return loose.map(([name, range]) => `${name} is asked for as ${range}, which is no exact version`)
}

/** @param {Package} one */
function judgePackage(one) {
  const wrong = []
  // npm never fetches the binaries for other systems here, so the lock has no digest of them.
  const isForeign = one.optional === true && (one.os ?? one.cpu) !== undefined
  // The digest decides; where a package is fetched from is the setting of whoever installs.
  if (one.resolved !== undefined) wrong.push(`comes from ${one.resolved}`)
  if (one.integrity === undefined ? !isForeign : !one.integrity.startsWith('sha512-')) wrong.push('has no digest')
  if (one.integrity !== undefined && !LICENCES.has(one.license ?? '')) wrong.push(`has the licence ${one.license}`)
  return wrong
}

/**
 * @param {string} said what `npm audit --json` said
 * @returns {{ asked: boolean, found: string[] }} asked false: the registry gave no answer
 */
export function judgeAudit(said) {
  let report
  try {
    report = JSON.parse(said)
  } catch {
    return { asked: false, found: [] }
  }
  if (typeof report.vulnerabilities !== 'object') return { asked: false, found: [] }
  const found = Object.values(report.vulnerabilities)
  return { asked: true, found: found.map(({ name, severity, range }) => `${name} ${range}: ${severity}`) }
}

/** @param {string[]} more */
function ask(...more) {
  const { stdout } = spawnSync('npm', ['audit', '--json', '--fetch-retries=0', `--fetch-timeout=${WAIT_MS}`, ...more], {
    encoding: 'utf8',
    timeout: WAIT_MS * 2,
  })
  return judgeAudit(stdout ?? '')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const wrong = judgeLock(packages)
  for (const line of wrong) console.error(`package-lock.json: ${line}`)
  console.log(`${Object.keys(packages).length} packages of package-lock.json judged`)
  const shipped = ask('--omit=dev')
  const all = shipped.asked ? ask() : shipped
  for (const line of shipped.found) console.error(`known vulnerability in what production installs: ${line}`)
  for (const line of all.found) console.log(`known vulnerability in a tool of ours: ${line}`)
  if (!all.asked)
    console.log('! NOT AUDITED: the registry did not say which vulnerabilities are known; ask again later')
  if (wrong.length > 0 || shipped.found.length > 0) process.exitCode = 1
}
