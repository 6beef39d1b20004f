/** The optimistic version as it should be: nobody locks, and whoever was overtaken starts over. */
import type { Connection } from 'mysql2/promise'
import { optimistic } from 'holdfast/optimistic'
import { change, connect, mariadb, rows } from '../lab/database.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

/** The case of the tutorial: ten in stock, A wants six and B five. */
const CASE = { stock: 10, A: 6, B: 5 } as const
type Name = 'A' | 'B'

async function shelf(stage: Stage, on: Connection): Promise<string> {
  const table = stage.fresh('shelf').replace('-', '_')
  await on.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, n INT NOT NULL, version BIGINT NOT NULL)`)
  await on.query(`INSERT INTO ${table} VALUES (1, ${CASE.stock}, 1)`)
  return table
}

async function look(on: Connection, table: string): Promise<{ readonly n: number; readonly version: number }> {
  const [row] = await rows(on, `SELECT n, version FROM ${table} WHERE id = 1`)
  return { n: Number(row?.['n']), version: Number(row?.['version']) }
}

function oversold(sold: number): { readonly name: string; readonly value: number } {
  return { name: 'oversold by', value: Math.max(0, sold - CASE.stock) }
}

/** Both read before either writes; `versioned`: the write says which version was read. */
async function byHand(stage: Stage, versioned: boolean): Promise<Act> {
  const { url } = await mariadb(stage)
  const title = versioned ? 'read, then write where the version is still the one read' : 'read, then write'
  const play = new Play(title, versioned ? 'remedy' : 'recipe', versioned ? 'no harm' : 'harm')
  const hands = { A: await connect(stage, url), B: await connect(stage, url) }
  const table = await shelf(stage, hands.A)
  const names: readonly Name[] = ['A', 'B']
  const seen = { A: await look(hands.A, table), B: await look(hands.B, table) }
  for (const name of names) play.step(name, `SELECT n, version → ${seen[name].n}, ${seen[name].version}`)
  let sold = 0
  const buy = async (name: Name): Promise<void> => {
    const { n, version } = seen[name]
    if (n < CASE[name]) {
      play.step(name, `${n} are not enough: goes away empty-handed`)
      return
    }
    const where = versioned ? ` AND version = ${version}` : ''
    const sql = `UPDATE ${table} SET n = ?, version = version + 1 WHERE id = 1${where}`
    const changed = (await change(hands[name], sql, [n - CASE[name]])) ?? 0
    play.step(
      name,
      `UPDATE … SET n = ${n - CASE[name]} WHERE id = 1${where} → ${changed} row${changed === 1 ? '' : 's'}`,
    )
    if (changed === 1) {
      sold += CASE[name]
      return
    }
    seen[name] = await look(hands[name], table)
    play.caught(name, `was overtaken, and reads again: ${seen[name].n}, ${seen[name].version}`)
    await buy(name)
  }
  for (const name of names) await buy(name)
  const { n } = await look(hands.A, table)
  if (sold > CASE.stock) play.harm('B', `${sold} sold of ${CASE.stock}; the table says that ${n} are left`)
  return play.end({ harm: oversold(sold), figures: [{ name: 'sold', value: sold, unit: `of ${CASE.stock}` }] })
}

async function ours(stage: Stage): Promise<Act> {
  const { url } = await mariadb(stage)
  const play = new Play('optimistic(db).update(table, key, change)', 'holdfast', 'caught')
  const hands = { A: await connect(stage, url), B: await connect(stage, url) }
  const table = await shelf(stage, hands.A)
  let sold = 0
  let overtaken = 0
  const buy = async (name: Name, meanwhile?: () => Promise<void>): Promise<void> => {
    let tries = 0
    let bought = 0
    await optimistic(hands[name]).update<{ n: number }>(table, { id: 1 }, async ({ n }) => {
      tries++
      const line = `change(row) is given n = ${n}`
      if (tries === 1) play.step(name, line)
      else play.caught(name, `was overtaken: ${line}`)
      if (tries === 1) await meanwhile?.()
      bought = n < CASE[name] ? 0 : CASE[name]
      return bought === 0 ? null : { n: n - bought }
    })
    overtaken += tries - 1
    sold += bought
    play.step(name, bought === 0 ? 'goes away empty-handed' : `has bought ${bought}`)
  }
  // A buys while B has read and not yet written.
  await buy('B', () => buy('A'))
  return play.end({
    harm: oversold(sold),
    caught: overtaken,
    figures: [{ name: 'sold', value: sold, unit: `of ${CASE.stock}` }],
  })
}

export const version: Exhibit = {
  name: 'version',
  title: 'the optimistic version as it should be: an update that loses no other',
  recipe: 'SELECT n; UPDATE shelf SET n = ?',
  source: 'what everybody writes first; tutorials give the version column as the cure, and it is one',
  lesson:
    'Where conflicts are rare no lock is needed: the write names what was read, and starts over when that is no ' +
    'longer so.',
  servers: ['mariadb'],
  kind: 'deterministic',
  run: async (stage) => [await byHand(stage, false), await byHand(stage, true), await ours(stage)],
}
