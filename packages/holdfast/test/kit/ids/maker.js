/**
 * A process that makes ids as fast as it can, and writes them to a file: eight bytes each. Started by crowd.ts.
 * It is told how many to make; with `until: 'told'` it goes on until it is told that it is enough.
 */
import { createWriteStream } from 'node:fs'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { holdfast } from '../../../build/src/index.js'

const [url = '', options = '{}', path = ''] = process.argv.slice(2)
const CHUNK = 2_000

const hf = await holdfast(url)
const ids = hf.ids(JSON.parse(options))
const file = createWriteStream(path)
const told = { isEnough: false }

/** @returns {Promise<bigint>} */
async function next() {
  for (;;) {
    const id = ids.tryNext()
    if (id !== null) return id
    try {
      return await ids.next()
    } catch (error) {
      // All slots are taken: until somebody's lease has lapsed, or somebody has closed.
      if (/** @type {{ code?: string }} */ (error).code !== 'HF_TIMEOUT') throw error
      await pause(20)
    }
  }
}

/** @param {number} count @param {'made' | 'told'} until */
async function make(count, until) {
  told.isEnough = until === 'made'
  for (let made = 0; made < count || !told.isEnough; ) {
    const chunk = new BigUint64Array(CHUNK)
    for (let i = 0; i < CHUNK; i++) chunk[i] = await next()
    made += CHUNK
    if (!file.write(Buffer.from(chunk.buffer))) await new Promise((resolve) => file.once('drain', resolve))
    process.send?.({ kind: 'making', worker: ids.worker })
    await turn()
  }
  process.send?.({ kind: 'made', worker: ids.worker })
}

process.on('message', (/** @type {{ kind: string, count: number, until: 'made' | 'told' }} */ order) => {
  if (order.kind === 'enough') told.isEnough = true
  if (order.kind === 'make') void make(order.count, order.until)
  if (order.kind === 'close') {
    void (async () => {
      await hf.close()
      await new Promise((resolve) => file.end(() => resolve(undefined)))
      process.disconnect()
    })()
  }
})
process.send?.({ kind: 'ready', worker: null })
