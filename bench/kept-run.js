/** The run that docs/explain/performance.md shows: the one result that is committed. Written by final.js. */
import { readFile, writeFile } from 'node:fs/promises'
import { adapters } from './adapters/index.js'
import { scenarios } from './scenarios/index.js'

const FILE = new URL('./results/performance.json', import.meta.url)

/**
 * @typedef {object} Part what one run of the bench has kept
 * @property {string} command
 * @property {string} at
 * @property {string} commit
 * @property {string} node
 * @property {{ cpu: string, cores: number, kernel: string }} machine
 * @property {number} loadBefore
 * @property {Record<string, string>} versions
 * @property {{ store: string, scenario: string, series: readonly StoredSeries[] }[]} measured
 * @property {import('./judge.js').JudgedBar[]} bars
 */
/** @typedef {{ adapter: string, rounds: import('./scenario.ts').Round[], failure?: string }} StoredSeries */
/** @typedef {import('./scenario.ts').Series} Series */
/** @typedef {{ store: string, scenario: import('./scenario.ts').Scenario, all: Series[] }} Measured */

/** @returns {Promise<Part[]>} */
export async function readRun() {
  // JSON has no NaN: a figure that is not there is null in the file.
  return JSON.parse(await readFile(FILE, 'utf8'), (_key, value) => (value === null ? Number.NaN : value))
}

/** @param {readonly Part[]} parts */
export async function writeRun(parts) {
  await writeFile(FILE, `${JSON.stringify(parts, rounded, 1)}\n`)
}

/** Five digits: the rest is noise, and half of the file. @param {string} _key @param {unknown} value */
function rounded(_key, value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value
}

/**
 * What was measured of a scenario, store by store.
 *
 * @param {readonly Part[]} parts
 * @param {string} name
 * @returns {Measured[]}
 */
export function measuredOf(parts, name) {
  const scenario = scenarios.find((one) => one.name === name)
  if (scenario === undefined) throw new Error(`there is no scenario ${name}`)
  return parts.flatMap(({ measured }) =>
    measured
      .filter((one) => one.scenario === name)
      .map(({ store, series }) => ({
        store,
        scenario,
        all: series.flatMap(({ adapter: named, ...rest }) => {
          const adapter = adapters.find((one) => one.name === named)
          return adapter === undefined ? [] : [{ adapter, ...rest }]
        }),
      })),
  )
}
