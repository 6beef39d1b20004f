/** Judges the notes of all clients together: who held when, whether two held at once, and how fair the shares were. */
import { HOLD_FIELDS } from './jobs/contended.js'
import { jain, quantile } from './stats.js'

/** @typedef {import('./jobs/contended.js').Notes} Notes */
/** @typedef {{ client: number, asked: number, acquired: number, releasing: number }} Hold */

/**
 * @param {readonly Notes[]} notes of all processes
 * @param {number} clients
 * @param {number} from the window, by the clock that the processes share; before it they warm up
 * @param {number} until after it they only finish what they asked for
 * @returns {import('./scenario.ts').Figures}
 */
export function judgeHolds(notes, clients, from, until) {
  const holds = notes.flatMap(({ holds }) => read(holds)).sort((a, b) => a.acquired - b.acquired)
  /** @type {number[]} */
  const shares = Array.from({ length: clients }, () => 0)
  /** @type {number[]} */
  const handovers = []
  let overlaps = 0
  let longestWaitMs = 0
  let sections = 0
  /** @type {Hold | undefined} */
  let last
  for (const hold of holds) {
    if (last !== undefined && hold.acquired < last.releasing) overlaps++
    if (hold.asked < until && hold.acquired >= from) {
      longestWaitMs = Math.max(longestWaitMs, hold.acquired - hold.asked)
    }
    if (hold.acquired >= from && hold.acquired < until) {
      sections++
      shares[hold.client] = (shares[hold.client] ?? 0) + 1
      if (last !== undefined && last.client !== hold.client) handovers.push(hold.acquired - last.releasing)
    }
    if (last === undefined || hold.releasing > last.releasing) last = hold
  }
  const windowS = (until - from) / 1_000
  return {
    handoversPerS: handovers.length / windowS,
    sectionsPerS: sections / windowS,
    handoverP50Ms: quantile(handovers, 0.5),
    handoverP99Ms: quantile(handovers, 0.99),
    jain: jain(shares),
    longestWaitMs,
    callsPerSection: sumOf(notes, (calls) => calls.total) / holds.length,
    blockedMsP999: largest(notes.map(({ calls }) => calls?.blockedMsP999 ?? Number.NaN)),
    overlaps,
  }
}

/** @param {Float64Array} notes @returns {Hold[]} */
function read(notes) {
  /** @type {Hold[]} */
  const holds = []
  for (let i = 0; i < notes.length; i += HOLD_FIELDS) {
    const [client = 0, asked = 0, acquired = 0, releasing = 0] = notes.subarray(i, i + HOLD_FIELDS)
    holds.push({ client, asked, acquired, releasing })
  }
  return holds
}

/** Leaves out what is not known: a process without a client has called nothing. @param {readonly number[]} values */
function largest(values) {
  const known = values.filter((value) => !Number.isNaN(value))
  return known.length === 0 ? Number.NaN : Math.max(...known)
}

/**
 * NaN if a process could not count.
 *
 * @param {readonly Notes[]} notes
 * @param {(calls: import('./adapter.ts').Calls) => number} pick
 */
function sumOf(notes, pick) {
  return notes.reduce((sum, { calls }) => sum + (calls === null ? Number.NaN : pick(calls)), 0)
}
