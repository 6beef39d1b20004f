/** Two replicas start and migrate the same database: `tsx examples/migration.ts postgres://localhost/shop` */
import { withMigrationLock } from 'holdfast/migration'
import { Client } from 'pg'

const url = process.argv[2] ?? 'postgres://localhost/shop'

async function replica(): Promise<'migrated' | 'nothing to do'> {
  return withMigrationLock(url, async () => {
    const db = new Client({ connectionString: url })
    await db.connect()
    try {
      const { rows } = await db.query({ text: "SELECT to_regclass('orders') IS NULL", rowMode: 'array' })
      if (rows[0]?.[0] !== true) return 'nothing to do'
      await db.query('CREATE TABLE orders (id bigint PRIMARY KEY)')
      return 'migrated'
    } finally {
      await db.end()
    }
  })
}

const outcomes = await Promise.all([replica(), replica()])
console.log(outcomes.toSorted().join(', '))
