/** `node bench/notify.js URL`: one raw commit on PostgreSQL with a NOTIFY, until it is heard: what a hand-over can't be faster than. */
import { load } from './load.js'
import { quantile } from './stats.js'

const [url = 'postgres://postgres@127.0.0.1:5432/postgres'] = process.argv.slice(2)
/** @typedef {{ connect(): Promise<void>, query(text: string | object): Promise<unknown>, on(event: string, fn: () => void): void, end(): Promise<void> }} Client */
/** @type {{ default: { Client: new (config: object) => Client } }} */
const { default: pg } = await load('pg')
const [writer, hearer] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
await writer.connect()
await hearer.connect()
await writer.query('CREATE TABLE IF NOT EXISTS raw_turn (id int PRIMARY KEY, n bigint)')
await writer.query('INSERT INTO raw_turn VALUES (1, 0) ON CONFLICT DO NOTHING')
await hearer.query('LISTEN raw_turn')
/** @type {() => void} */
let heard = () => {}
hearer.on('notification', () => heard())
const text =
  "WITH u AS (UPDATE raw_turn SET n = n + 1 WHERE id = 1 RETURNING n) SELECT pg_notify('raw_turn', n::text) FROM u"
/** @type {number[]} */
const times = []
for (let i = 0; i < 3_000; i++) {
  const arrival = new Promise((resolve) => {
    heard = () => resolve(undefined)
  })
  const started = performance.now()
  const written = writer.query({ name: 'turn', text, values: [] })
  await arrival
  if (i >= 500) times.push(performance.now() - started)
  await written
}
console.log(
  `commit and NOTIFY, until heard: p50 ${quantile(times, 0.5).toFixed(3)} ms, p99 ${quantile(times, 0.99).toFixed(3)} ms`,
)
await Promise.all([writer.end(), hearer.end()])
