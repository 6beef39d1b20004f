/** A child process of the bench: opens one adapter, then does the jobs that its parent sends. Started by crew.js. */
import { basename } from 'node:path'
import { adapters } from './adapters/index.js'
import { countTimers, liveTimers } from './timers.js'

/** @typedef {import('./adapter.ts').Client} Client */
/** @typedef {(client: Client, params: unknown, liveTimers: () => number) => Promise<unknown>} Job */
/** @typedef {{ id: number, job: string, params: unknown }} Order */

/** @type {Client | undefined} */
let client

/** @param {Order} order */
async function answer({ id, job, params }) {
  try {
    process.send?.({ id, result: await perform(job, params) })
  } catch (error) {
    process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

/** @param {string} job @param {unknown} params */
async function perform(job, params) {
  if (job === 'open') return open(/** @type {{ adapter: string, config: import('./adapter.ts').Config }} */ (params))
  if (client === undefined) throw new Error(`${job} was asked for before open`)
  const [file, name = ''] = job.split('.')
  /** @type {Record<string, Job>} */
  const jobs = await import(`./jobs/${file}.js`)
  return jobs[name]?.(client, params, liveTimers)
}

/** @param {{ adapter: string, config: import('./adapter.ts').Config }} params */
async function open({ adapter: name, config }) {
  const adapter = adapters.find((adapter) => adapter.name === name)
  if (adapter === undefined) throw new Error(`there is no adapter ${name}`)
  // Count before the library is loaded, because the library may keep the functions that it finds.
  if (config.counting) countTimers()
  const opened = await adapter.open(config)
  // Every measurement has keys of its own, because holds of an earlier one live on the server until they lapse.
  const own = basename(config.folder).slice(-6)
  const { readLock, fresh = opened.lock, kept } = opened
  client = {
    ...opened,
    prefix: `${own}:`,
    exact: opened.lock,
    lock: (key) => opened.lock(`${own}:${key}`),
    fresh: (key) => fresh(`${own}:${key}`),
    ...(kept && { kept: (key) => kept(`${own}:${key}`) }),
    ...(readLock && { readLock: (key) => readLock(`${own}:${key}`) }),
  }
}

process.on('message', (message) => void answer(/** @type {Order} */ (message)))
process.on('disconnect', () => process.exit())
