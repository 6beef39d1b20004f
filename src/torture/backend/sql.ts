/** What no SQL server of ours can be put through, and why. */
import type { NemesisName } from '../nemesis/names.ts'

type Lacks = Readonly<Partial<Record<NemesisName, string>>>

export const ONE_SERVER: Lacks = {
  failover: 'one server has none to fail over to',
  lag: 'one server has no replica',
}

export const NO_TAIL: Lacks = {
  'restart-empty': 'a database that comes back without its tables is not set up',
  'restart-truncated': 'its log is checked by sums: a cut tail is what it recovers from, not what it keeps',
  flush: 'there is no one command that empties it',
}
