/** What the servers are, for the report. */
import { find, type ServerKind } from '../../testbed/find.ts'

export async function versionOf(kind: ServerKind): Promise<string> {
  return `${kind} ${(await find(kind))?.version ?? 'unknown'}`
}
