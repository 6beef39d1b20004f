/** A child process of the bench: opens one adapter, then does the jobs that its parent sends. Started by crew.js. */
import { adapters } from './adapters/index.js'
import { countTimers, liveTimers } from './timers.js'

/** @typedef {import('./adapter.ts').Client} Client */

/** @type {Client | undefined} */
let client

/** @param {{ id: number, job: string, params: any }} message */
async function answer({ id, job, params }) {
  try {
    process.send?.({ id, result: await perform(job, params) })
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

/** @param {string} job @param {any} params */
async function perform(job, params) {
  if (job === 'open') {
    const adapter = adapters.find((adapter) => adapter.name === params.adapter)
    if (adapter === undefined) throw new Error(`there is no adapter ${params.adapter}`)
    // Before the library is loaded: it may keep the functions that it finds.
    if (params.config.counting) countTimers()
    client = await adapter.open(params.config)
    return undefined
  }
  const [file, name] = job.split('.')
  const jobs = await import(`./jobs/${file}.js`)
  return jobs[/** @type {string} */ (name)](client, params, liveTimers)
}

process.on('message', (message) => void answer(/** @type {any} */ (message)))
process.on('disconnect', () => process.exit())
