/** `holdfast id`: ids that no other process makes. */
import { checkName, checkWhole } from '../contract/check.ts'
import { UsageError } from '../contract/errors.ts'
import { type Given, refuseBoth, type Syntax } from './args.ts'
import { EXIT } from './exit.ts'
import { flag, optionsHelp, STORE, value } from './option.ts'
import { print } from './output.ts'
import { withStore } from './store.ts'

export const syntax: Syntax = {
  command: 'id',
  options: {
    count: value('1', 'how many, one a line; up to 1 000 000'),
    name: value('ids', 'ids of one name never repeat'),
    segment: value('NAME', 'numbers from 1 on instead, without gaps while nobody else takes any at the same time'),
    json: flag('one object a line: { id, timeMs, worker, sequence }, or { id } for a segment; ids are decimal strings'),
    store: STORE,
  },
  operands: [],
  runs: false,
}

export const help: string = `Makes ids that no other process makes: 64-bit snowflakes, or numbers that count up.

Usage: holdfast id [--count N] [--name NAME | --segment NAME] [--store URL] [--json]

${optionsHelp(syntax.options)}

Examples:
  holdfast id
  holdfast id --count 100 --store redis://localhost:6379
  holdfast id --segment invoices`

const COUNT_MAX = 1_000_000
/** Lines printed at a time. */
const LINES = 1_000

export async function execute(given: Given): Promise<number> {
  refuseBoth(syntax, given, 'name', 'segment')
  const text = given.values.get('count') ?? '1'
  const count = checkWhole('--count', /^\d+$/.test(text) ? Number(text) : text, 1, COUNT_MAX)
  const segment = given.values.get('segment')
  const isJson = given.flags.has('json')
  if (segment !== undefined) checkName('--segment', segment, 200)
  const name = checkName('--name', given.values.get('name') ?? 'ids', 200)
  return withStore(given, async (hf) => {
    if (hf.traits.scope === 'process') {
      throw new UsageError('only one process can see this store, so ids would repeat; use a sqlite: file')
    }
    if (segment === undefined) {
      const ids = hf.ids({ name })
      await printAll(count, async () => {
        const id = ids.tryNext() ?? (await ids.next())
        return isJson ? JSON.stringify({ id: String(id), ...ids.parts(id) }) : String(id)
      })
    } else {
      const segments = hf.segments(segment, { step: count })
      await printAll(count, async () => {
        const id = String(segments.tryNext() ?? (await segments.next()))
        return isJson ? JSON.stringify({ id }) : id
      })
    }
    return EXIT.ok
  })
}

async function printAll(count: number, next: () => Promise<string>): Promise<void> {
  for (let done = 0; done < count; done += LINES) {
    const lines: string[] = []
    for (let i = done; i < Math.min(count, done + LINES); i++) lines.push(await next())
    print(lines.join('\n'))
  }
}
