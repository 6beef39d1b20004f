/**
 * What one lock costs the more names, waiters, readers and held locks there are. Each size is compared with the
 * smallest of its row, in the same process. A size that takes longer than its budget is left out, and so are those
 * above it: a slow store has smaller top sizes. What ends a row early is printed.
 */
import { Crew } from '../crew.js'

const ROWS = [
  { row: 'names', sizes: [1_000, 10_000, 100_000, 1_000_000] },
  { row: 'waiters', sizes: [10, 100, 1_000, 10_000] },
  { row: 'readers', sizes: [10, 100, 1_000, 10_000] },
  { row: 'holds', sizes: [1_000, 10_000, 100_000, 1_000_000] },
]

/** A size stops filling after its budget; what is under way then, and the measuring itself, may take so much longer. */
const LATE_MS = 30_000

/**
 * A size that fails ends its own row only.
 *
 * @param {import('../crew.js').Child} child
 * @param {string} row
 * @param {number} size
 * @param {number} budgetMs
 * @returns {Promise<import('../scenario.ts').Figures | null>}
 */
async function cell(child, row, size, budgetMs) {
  try {
    /** @type {import('../scenario.ts').Figures | null} */
    const figures = await child.perform(`growth.${row}`, { size, budgetMs }, budgetMs + LATE_MS)
    if (figures === null) console.error(`${row} ${size}: took longer than its ${budgetMs / 1_000} s`)
    return figures
  } catch (error) {
    console.error(`${row} ${size}: ${error instanceof Error ? error.message : String(error)}`)
    return null
  }
}

/** @type {import('../scenario.ts').Scenario} */
export const growth = {
  name: 'growth',
  title: 'Growth: microseconds an operation by size',
  rounds: (rounds) => Math.min(rounds, 3),
  suits: (adapter) => adapter.role === 'ours' && adapter.name === 'holdfast',
  metrics: [
    { key: 'usPerOp', title: 'µs/operation', better: 'less' },
    { key: 'ofSmallest', title: 'of the smallest size', better: 'less' },
    { key: 'cpuUsPerOp', title: 'client CPU µs/operation', better: 'less' },
    { key: 'lost', title: 'lost', better: 'less' },
  ],
  async run(adapter, { store, cellMs }) {
    /** @type {import('../scenario.ts').Round} */
    const round = {}
    for (const { row, sizes } of ROWS) {
      // Each row has a process of its own, so that nothing of one row disturbs the next.
      await Crew.with(adapter, store, { ttlMs: 60_000, counting: false }, async (crew) => {
        const child = await crew.hire()
        await child.perform('growth.warm', null)
        let smallest = Number.NaN
        for (const size of sizes) {
          const figures = await cell(child, row, size, cellMs)
          if (figures === null) break
          if (Number.isNaN(smallest)) smallest = figures['usPerOp'] ?? Number.NaN
          round[`${row} ${size}`] = { ...figures, ofSmallest: (figures['usPerOp'] ?? Number.NaN) / smallest }
        }
      })
    }
    return round
  },
}
