/**
 * A process that works with a store until it is told to stop, with the built library: see crew.ts. Plain JavaScript,
 * since sixteen of them are started at once. Its order: JSON as the one argument.
 */
import { closeSync, openSync, unlinkSync } from 'node:fs'

/** @type {import('./crew.ts').Order} */
const order = JSON.parse(process.argv[2] ?? '')
if (order.clockMs !== 0) {
  const wallMs = Date.now.bind(Date)
  Date.now = () => wallMs() + order.clockMs
}
const isMysql = order.url.startsWith('mysql')
const dist = new URL('../../../build/src/', import.meta.url)
/** @param {string} path */
const load = (path) => import(new URL(path, dist).href)
const { holdfast } = await load('index.js')
const { optimistic } = await load('optimistic/index.js')
const hf = await holdfast(await openStore())
const orders = { isStopped: false }

async function openStore() {
  if (isMysql) return (await load('stores/mysql/index.js')).mysql(order.url)
  return (await load('stores/postgres/index.js')).postgres(order.url, { client: order.client ?? 'pg' })
}

/** Adds one to a cell and to a row of a table, again and again. */
async function count() {
  const pool = await openPool()
  const cell = hf.cell(order.line)
  const table = optimistic(pool)
  for (let i = 0; i < order.times; i++) {
    await cell.update((/** @type {number | null} */ n) => (n ?? 0) + 1, { waitMs: 60_000 })
    await table.update('counted', { id: 1 }, (/** @type {{ n: number }} */ { n }) => ({ n: n + 1 }), { waitMs: 60_000 })
  }
  await pool.end()
}

async function openPool() {
  if (isMysql) return (await import('mysql2/promise')).createPool({ uri: order.url, connectionLimit: 2 })
  const pg = await import('pg')
  return new pg.default.Pool({ connectionString: order.url, max: 2 })
}

/** Holds the line again and again: a file that must not be there marks who is inside. Answers the tokens. */
async function visit() {
  /** @type {string[]} */
  const tokens = []
  const mutex = hf.mutex(order.line, { fairness: 'strict', ttlMs: 20_000 })
  while (!orders.isStopped) {
    const held = await mutex.acquire()
    closeSync(openSync(order.mark, 'wx'))
    await new Promise((resolve) => setTimeout(resolve, 2))
    held.assertHeld()
    unlinkSync(order.mark)
    tokens.push(String(held.token))
    await held.release()
  }
  return tokens
}

/** Holds 64 names that nobody has used before, all at once, again and again. Answers name and token of each. */
async function together() {
  /** @type {string[]} */
  const tokens = []
  for (let round = 0; round < order.times; round++) {
    const names = Array.from({ length: 64 }, (_, i) => `${order.line} ${round} ${i}`)
    if (order.reversed) names.reverse()
    const holds = names.map((name, i) =>
      hf.mutex(name, { ttlMs: 20_000 }).using(async (/** @type {{ token: bigint }} */ { token }) => {
        const mark = `${order.mark} ${round} ${order.reversed ? 63 - i : i}`
        closeSync(openSync(mark, 'wx'))
        await new Promise((resolve) => setTimeout(resolve, 2))
        unlinkSync(mark)
        tokens.push(`${name} ${token}`)
      }),
    )
    await Promise.all(holds)
  }
  return tokens
}

process.on('message', (message) => {
  if (message === 'stop') {
    orders.isStopped = true
    return
  }
  /** @type {Promise<unknown>} */
  const work = { count, visit, together }[order.work]()
  work.then(
    (result) => process.send?.({ result }),
    (error) => process.send?.({ error: error instanceof Error ? error.stack : String(error) }),
  )
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
