/** 2, 10 and 100 clients in 4 processes that all want one key, again and again. A store in memory has one process. */
import { sharedNow } from '../clock.js'
import { judgeHolds } from '../contention.js'
import { Crew } from '../crew.js'

const CLIENTS = [2, 10, 100]
const PROCESSES = 4
const HEAD_START_MS = 50
/**
 * Between processes a client gets a few turns in 100 ms; with half of the clients at 4 turns and half at 5, Jain's
 * index is 0.988.
 */
const WINDOW_MS_PER_CLIENT = 40
/**
 * Between processes a client's code is run a few hundred times a second: without a warm-up by work, most of what is
 * measured is V8's interpreter and compiler, and more of it the more code a library has.
 */
const WARM_MS = 5_000
const WARM_KEYS = 16

/** @typedef {import('../jobs/contended.js').Notes} Notes */

/**
 * Several keys at a time, so that a server which is slow for one still gives the client enough to do.
 *
 * @param {import('../crew.js').Child} child
 */
function warmUp(child) {
  const shared = { clients: [0, 1], sectionMs: 0, startsAt: 0, endsAt: sharedNow() + WARM_MS }
  const keys = Array.from({ length: WARM_KEYS }, (_, i) => `bench:warm:${i}`)
  return Promise.all(keys.map((key) => child.perform('contended.measure', { key, ...shared })))
}

/** @type {import('../scenario.ts').Scenario} */
export const contended = {
  name: 'contended',
  title: 'Contention for one key',
  metrics: [
    { key: 'handoversPerS', title: 'hand-overs/s', better: 'more' },
    { key: 'sectionsPerS', title: 'sections/s', better: 'more' },
    { key: 'handoverP50Ms', title: 'hand-over p50 ms', better: 'less' },
    { key: 'handoverP99Ms', title: 'p99 ms', better: 'less' },
    { key: 'jain', title: 'Jain', better: 'more' },
    { key: 'longestWaitMs', title: 'longest wait ms', better: 'less' },
    { key: 'callsPerSection', title: 'calls/section', better: 'less' },
    { key: 'blockedMsP999', title: 'loop blocked p99.9 ms', better: 'less' },
    { key: 'overlaps', title: 'overlaps', better: 'less' },
  ],
  async run(adapter, { store, sectionMs }) {
    const isLocal = store.scope === 'process'
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: true }, async (crew) => {
      const crewSize = isLocal ? 1 : PROCESSES
      const children = await Promise.all(Array.from({ length: crewSize }, () => crew.hire()))
      await Promise.all(children.map((child) => (isLocal ? child.perform('contended.warm', null) : warmUp(child))))
      /** @type {import('../scenario.ts').Round} */
      const round = {}
      for (const count of CLIENTS) {
        const numbers = Array.from({ length: count }, (_, i) => i)
        const { warmMs, windowMs } = isLocal
          ? { warmMs: 30, windowMs: 100 }
          : { warmMs: 500, windowMs: Math.max(600, count * WINDOW_MS_PER_CLIENT) }
        const startsAt = sharedNow() + HEAD_START_MS
        const from = startsAt + warmMs
        const until = from + windowMs
        const shared = { key: `bench:shared:${count}`, sectionMs, startsAt, endsAt: until }
        /** @type {Notes[]} */
        const notes = await Promise.all(
          children.map((child, c) => {
            const clients = numbers.filter((number) => number % children.length === c)
            return child.perform('contended.measure', { ...shared, clients })
          }),
        )
        round[`n=${count}`] = judgeHolds(notes, count, from, until)
      }
      return round
    })
  },
}
