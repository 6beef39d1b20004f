/** The keys of one server that match a pattern and hold strings, some thousand at a time; some may come twice. */
import { StoreError } from '../../contract/errors.ts'
import type { Argument } from './encode.ts'

const SCAN_COUNT = 2_000

/** `ask` gives one command to the server. */
export async function* scanStrings(
  ask: (args: readonly Argument[]) => Promise<unknown>,
  pattern: string,
): AsyncGenerator<readonly string[]> {
  let cursor = '0'
  do {
    const args = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT, 'TYPE', 'string']
    const reply: unknown = await ask(args)
    const [next, keys] = Array.isArray(reply) ? (reply as unknown[]) : []
    if (!/^\d+$/.test(String(next)) || !Array.isArray(keys)) {
      throw new StoreError('SCAN was answered with something else than a cursor and a list: is this a Redis?')
    }
    yield keys.map(String)
    cursor = String(next)
  } while (cursor !== '0')
}
