/** A lock table with a unique index and no expiry: a row is the lock, and a dead client's row stays. */
import { change, connect, mariadb, rows } from '../lab/database.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { orphan } from '../lab/orphan.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 500
const TRIES = 4

async function recipe(stage: Stage): Promise<Act> {
  const { url } = await mariadb(stage)
  const play = new Play('A inserts the row, and dies before it deletes it', 'recipe', 'harm')
  const b = await connect(stage, url)
  const table = stage.fresh('locks').replace('-', '_')
  await b.query(`CREATE TABLE ${table} (name VARCHAR(64) NOT NULL PRIMARY KEY, owner VARCHAR(64) NOT NULL)`)
  const insert = `INSERT INTO ${table} (name, owner) VALUES (?, ?)`
  const a = stage.actor('A')
  await a.do({ do: 'sql', url, sql: insert, values: ['stock', 'A'] })
  play.step('A', `INSERT INTO ${table} VALUES ('stock', 'A') → 1 row`)
  const held = play.hold('A')
  await a.kill()
  play.fault('A', 'killed (SIGKILL)')
  held()
  const waited = play.begin('B', 'wait')
  let refused = 0
  for (let i = 0; i < TRIES; i++) {
    const inserted = await change(b, insert, ['stock', 'B'])
    if (inserted === null) refused++
    play.step('B', `INSERT INTO ${table} VALUES ('stock', 'B') → ${inserted === null ? 'duplicate key' : '1 row'}`)
    if (i < TRIES - 1) await new Promise((resolve) => setTimeout(resolve, TTL_MS))
  }
  waited()
  const left = await rows(b, `SELECT owner FROM ${table} WHERE name = 'stock' AND owner = 'A'`)
  if (left.length > 0) play.harm('B', 'the row of A is there, and nothing will ever delete it')
  return play.end({
    harm: { name: 'locks left for ever', value: left.length },
    figures: [
      { name: 'refused', value: refused, unit: `of ${TRIES} tries` },
      { name: 'blocked so far', value: Math.round(play.ms), unit: 'ms' },
    ],
  })
}

async function ours(stage: Stage): Promise<Act> {
  const { url } = await mariadb(stage)
  return orphan(stage, url, {
    title: 'the same, on the same server',
    ttlMs: TTL_MS,
    held: 'its place has an owner and a lease',
    lapsed: 'it waited in line, and the lease of A has lapsed by the clock of the server',
  })
}

export const lockTable: Exhibit = {
  name: 'lock-table',
  title: 'a lock table with a unique index and no expiry',
  recipe: 'INSERT INTO locks (name) VALUES (’stock’); work; DELETE FROM locks WHERE name = ’stock’',
  source: 'tutorials on locks in a database, which name three flaws: no expiry, no waiting, no re-entry',
  lesson: 'A row needs an owner, an end by the clock of the server, and a line to wait in.',
  servers: ['mariadb'],
  kind: 'deterministic',
  run: async (stage) => [await recipe(stage), await ours(stage)],
}
