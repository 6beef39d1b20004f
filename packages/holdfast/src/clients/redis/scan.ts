/** The keys of one server that match a pattern and hold strings, a few hundred at a time; some may come twice. */
import type { Argument } from './encode.ts'

const SCAN_COUNT = 500

/** `ask` gives one command to the server. */
export async function* scanStrings(
  ask: (args: readonly Argument[]) => Promise<unknown>,
  pattern: string,
): AsyncGenerator<readonly string[]> {
  let cursor = '0'
  do {
    const args = ['SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT, 'TYPE', 'string']
    const [next, keys] = (await ask(args)) as [string, string[]]
    yield keys
    cursor = next
  } while (cursor !== '0')
}
