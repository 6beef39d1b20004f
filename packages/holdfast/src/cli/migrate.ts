/** `holdfast migrate`: makes the tables that a store on a SQL server needs, or prints the SQL. */
import { UsageError } from '../contract/errors.ts'
import type { Given, Syntax } from './args.ts'
import { EXIT } from './exit.ts'
import { flag, optionsHelp, STORE } from './option.ts'
import { print } from './output.ts'
import { publicUrl, storeUrl, urlOption, withStore } from './store.ts'

export const syntax: Syntax = {
  command: 'migrate',
  options: {
    print: flag('only prints the SQL, for your own migrations or an administrator; connects to nothing'),
    store: STORE,
  },
  operands: [],
  runs: false,
}

export const help: string = `Makes or brings up to date the tables that Holdfast needs on PostgreSQL, MySQL and MariaDB.

Usage: holdfast migrate [--print] [--store URL]

${optionsHelp(syntax.options)}

Tables that are of this version already are left alone; newer ones are refused. Other stores need no tables.

Examples:
  holdfast migrate --store postgres://app@db/shop
  holdfast migrate --store mysql://app@db/shop --print | mysql shop`

export async function execute(given: Given): Promise<number> {
  const url = storeUrl(given)
  if (given.flags.has('print')) {
    print((await sqlFor(url)).trimEnd())
    return EXIT.ok
  }
  await withStore(given, (hf) => hf.setup())
  print(`${publicUrl(url)} is ready`)
  return EXIT.ok
}

async function sqlFor(url: string): Promise<string> {
  const prefix = urlOption(url, 'prefix')
  const names = prefix === null ? {} : { prefix }
  if (/^postgres(ql)?:/i.test(url)) {
    const { postgresMigration } = await import('../stores/postgres/index.ts')
    const schema = urlOption(url, 'schema')
    return postgresMigration(schema === null ? names : { ...names, schema })
  }
  if (/^mysqls?:/i.test(url)) {
    const { mysqlMigration } = await import('../stores/mysql/index.ts')
    return mysqlMigration(names)
  }
  throw new UsageError('only postgres: and mysql: have tables to print; other stores make what they need by themselves')
}
