/** The versions of the servers, for the report. */
import { find } from '../../testbed/find.ts'
import type { ServerKind } from '../../testbed/needs.ts'

export async function versionOf(kind: ServerKind): Promise<string> {
  return `${kind} ${(await find(kind))?.version ?? 'unknown'}`
}
