/** 1 000 tasks of one process that all want the same line at once. */
import { Crew } from '../crew.js'

const TASKS = 1_000

/** @type {import('../scenario.ts').Scenario} */
export const tasks = {
  name: 'tasks',
  title: '1 000 tasks of one process on one line',
  metrics: [
    { key: 'tasksPerS', title: 'tasks/s', better: 'more' },
    { key: 'cpuUsPerTask', title: 'client CPU µs/task', better: 'less' },
    { key: 'firstTasksPerS', title: 'tasks/s, first batch (cold)', better: 'more' },
    { key: 'inOrder', title: 'served in order', better: 'more' },
  ],
  async run(adapter, { store }) {
    const isLocal = store.scope === 'process'
    const params = { isLocal, warmMs: isLocal ? 200 : 0, windowMs: isLocal ? 200 : 1_000 }
    return Crew.with(adapter, store, { ttlMs: 30_000, counting: false }, async (crew) => {
      const child = await crew.hire()
      return { [`n=${TASKS}`]: await child.perform('tasks.measure', { tasks: TASKS, ...params }) }
    })
  },
}
