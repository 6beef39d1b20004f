/** Settings of a session, or parsers of a pool, that are other than PostgreSQL's and `pg`'s own. */
import { Pool } from 'pg'
import { beforeAll } from 'vitest'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { type Pools, settingsCases } from '../sql/settings.ts'
import { usePostgres } from './server.ts'

const bench = usePostgres()
beforeAll(async () => {
  const driver = postgres(bench.url)
  await driver.setup?.()
  await driver.close()
})

function pool(config: ConstructorParameters<typeof Pool>[0]): ReturnType<Pools[string]> {
  const made = new Pool({ connectionString: bench.url, max: 4, ...config })
  // The server is stopped before the last farewell has been read.
  made.on('error', () => {})
  return { driver: postgres(made), close: () => made.end() }
}

const SETTINGS = [
  // A line that was entered together with others had another name than the same line alone: two held it.
  'standard_conforming_strings=off',
  'bytea_output=escape',
  'search_path=nowhere',
  'array_nulls=off',
  'plan_cache_mode=force_custom_plan',
]

settingsCases(() => postgres(bench.url), {
  ...Object.fromEntries(SETTINGS.map((setting) => [setting, () => pool({ options: `-c ${setting}` })])),
  'a parser of its own for every type': () => pool({ types: { getTypeParser: () => (text) => ({ text }) } }),
})
