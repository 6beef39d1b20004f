/** Lines as people see them: a place stands where a majority knows it, and holds where a majority votes for it. */
import type { LineView, PlaceView } from '../../contract/driver.ts'
import type { Keys } from '../redis/keys.ts'
import { placeView } from '../view.ts'
import type { Servers } from './servers.ts'
import type { Voter } from './voter.ts'

/** Lines in one look, and places shown of each. */
const VIEW_LINES = 50
const VIEW_PLACES = 10_000

type Shown = readonly [
  id: string,
  priority: number,
  weight: number,
  capacity: number,
  leftMs: number,
  voted: number,
  token: number,
  data: string,
]

/** One place, as several servers know it. */
interface Merged {
  readonly shown: Shown
  known: number
  votes: number
  token: number
  leftMs: number
}

/** What one server shows of each line. */
type Sight = ReadonlyMap<string, readonly Shown[]>

export async function listLines(servers: Servers, keys: Keys, prefix: string): Promise<LineView[]> {
  const ends = await Promise.allSettled(servers.voters.map((voter) => look(voter, keys, prefix)))
  const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []))
  const sights = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
  if (sights.length < servers.quorum) throw servers.unreachable(sights.length, errors)
  const nowUs = servers.propose()
  const names = new Set(sights.flatMap((sight) => [...sight.keys()]))
  return [...names].flatMap((name) => merge(name, sights, servers.quorum, nowUs))
}

async function look(voter: Voter, keys: Keys, prefix: string): Promise<Sight> {
  if (voter.trouble !== null) throw voter.trouble
  const { wire } = voter
  const names = new Set<string>()
  for await (const found of wire.scan(keys.pattern(prefix, wire.keyPrefix))) {
    for (const key of found) {
      const name = keys.nameOf(key.slice(wire.keyPrefix.length))
      if (name !== null) names.add(name)
    }
  }
  const sight = new Map<string, readonly Shown[]>()
  const all = [...names]
  for (let i = 0; i < all.length; i += VIEW_LINES) {
    const some = all.slice(i, i + VIEW_LINES)
    const lines = await voter.look(
      'view',
      some.map((name) => keys.line(name)[0]),
      [VIEW_PLACES],
    )
    for (const [n, name] of some.entries()) sight.set(name, lines[n] as readonly Shown[])
  }
  return sight
}

function merge(name: string, sights: readonly Sight[], quorum: number, nowUs: number): LineView[] {
  const byId = new Map<string, Merged>()
  for (const sight of sights) {
    for (const shown of sight.get(name) ?? []) {
      const [id, , , , leftMs, voted, token] = shown
      const merged = byId.get(id) ?? { shown, known: 0, votes: 0, token: 0, leftMs: 0 }
      merged.known++
      merged.votes += voted
      merged.leftMs = Math.max(merged.leftMs, leftMs)
      if (voted === 1) merged.token = Math.max(merged.token, token)
      byId.set(id, merged)
    }
  }
  const standing = [...byId.values()].filter(({ known }) => known >= quorum)
  const [first] = standing
  if (first === undefined) return []
  const holders = standing.filter(({ votes }) => votes >= quorum).toSorted((a, b) => a.token - b.token)
  const newest = holders.at(-1)?.token ?? 0
  const waiters = standing
    .filter(({ votes }) => votes < quorum)
    .toSorted((a, b) => a.shown[1] - b.shown[1] || (a.shown[0] < b.shown[0] ? -1 : 1))
  const view = ({ shown, leftMs }: Merged, token: number): PlaceView =>
    placeView({ token: BigInt(token), weight: shown[2], data: shown[7] }, { ageMs: (nowUs - shown[1]) / 1_000, leftMs })
  return [
    {
      name,
      capacity: first.shown[3],
      holders: holders.map((merged) => view(merged, merged.token)),
      // A waiter has no token yet: shown is one that it could get.
      waiters: waiters.map((merged, i) => view(merged, Math.max(merged.shown[1], newest + 1 + i))),
    },
  ]
}
