/** Three servers of which a majority decides: a write is confirmed by two before it is answered. */
import type { Group } from '../../testbed/bed.ts'
import type { Server } from '../../testbed/server.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Backend, Deed } from './backend.ts'
import { anyOf, killServer, pauseServer, type Pick, stopPastLease } from './deeds.ts'
import { Gates } from './gates.ts'
import type { Sufferers } from './hardships.ts'

export const QUORUM_COUNT = 3
/** By then what it ends late has been ended. */
const REVOKED_MS = 3_000

export interface QuorumKind {
  /** Of the URL. */
  readonly scheme: string
  readonly version: string
  readonly group: Group
  /** Whether the server on this port leads. A server that does not answer does not lead. */
  readonly leads: (port: number) => Promise<boolean>
  /** A leader that stood still and goes on may end leases that its successor has renewed. */
  readonly revokesLate: boolean
  /** Why no server may come back with less data than it had. */
  readonly spoilt: string
  readonly suffers: Omit<Sufferers, 'servers'>
  readonly deeds: Readonly<Partial<Record<NemesisName, Deed>>>
  readonly lacks: Readonly<Partial<Record<NemesisName, string>>>
}

export function quorumBackend(kind: QuorumKind): Backend {
  const { servers, url } = kind.group
  const gates = new Gates(servers, (addresses) => `${kind.scheme}://${addresses}`)
  return {
    versions: `${kind.version} × ${servers.length}`,
    url,
    failoverMs: 8_000,
    ttlMs: 2_000,
    deeds: {
      'pause-server': pauseServer(anyOf(servers), { ms: 2_500 }),
      'kill-server': killServer(anyOf(servers), { downMs: 1_500 }),
      failover: killServer(leader(servers, kind.leads), { downMs: 2_500 }),
      'stop-leader': stopPastLease(leader(servers, kind.leads), { forgets: kind.revokesLate, graceMs: REVOKED_MS }),
      ...kind.deeds,
    },
    lacks: {
      'restart-empty': kind.spoilt,
      'restart-truncated': kind.spoilt,
      lag: 'a write is confirmed by a majority before it is answered',
      ...kind.lacks,
    },
    sufferers: { servers, ...kind.suffers },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}

/** The leader; any server if none says that it leads. */
function leader(servers: readonly Server[], leads: QuorumKind['leads']): Pick {
  return async (random) => {
    for (const server of servers) if (await leads(server.port)) return server
    return anyOf(servers)(random)
  }
}
