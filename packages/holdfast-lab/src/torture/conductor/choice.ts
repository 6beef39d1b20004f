/** Chooses the faults of a run and the errands of its clients, and says why others are left out. */
import type { LockClient } from '../client/lock-client.ts'
import { ERRANDS, type ErrandKind } from '../generator/errand.ts'
import { lacksLines } from '../generator/plan.ts'
import type { LineSpec } from '../history/event.ts'
import { CLIENT_AIMS, NET_AIMS } from '../nemesis/clients.ts'
import { LINE_AIMS } from '../nemesis/breaks.ts'
import { NEMESES, type NemesisName } from '../nemesis/names.ts'
import { NOT_ASKED, type NotRun, type RunOptions } from './options.ts'

/** `lacks`: what can't be done to clients here. */
export function chooseFaults(
  o: Pick<RunOptions, 'backend' | 'nemeses'>,
  lacks: Readonly<Partial<Record<NemesisName, string>>>,
): {
  readonly names: readonly NemesisName[]
  readonly notRun: readonly NotRun[]
} {
  const names: NemesisName[] = []
  const notRun: NotRun[] = []
  for (const nemesis of NEMESES) {
    const why = lacks[nemesis] ?? lack(o, nemesis)
    if (why === null) names.push(nemesis)
    else notRun.push({ nemesis, why })
  }
  return { names, notRun }
}

function lack({ backend, nemeses }: Pick<RunOptions, 'backend' | 'nemeses'>, name: NemesisName): string | null {
  const cannot = unavailable(backend, name)
  if (cannot !== null) return cannot
  return nemeses === null || nemeses.includes(name) ? null : NOT_ASKED
}

/** Why this fault can't be made on this store, here; null: it can. */
export function unavailable(backend: RunOptions['backend'], name: NemesisName): string | null {
  if (CLIENT_AIMS[name] !== undefined || LINE_AIMS[name] !== undefined) return null
  if (backend === null) return 'the servers are not ours to break'
  const lacks = backend.lacks[name]
  if (lacks !== undefined) return lacks
  if (NET_AIMS[name] !== undefined || backend.deeds[name] !== undefined) return null
  const hardship = NO_HARDSHIP[name]
  if (hardship !== undefined) return hardship
  if (name === 'replace-server' || name === 'resize') return 'Holdfast does not decide which servers it has'
  return 'not known for this store'
}

const ELSEWHERE = 'not made where servers are copies of each other: it is made on one server, and failover here'

/** For stores whose servers we can't harm. */
const NO_HARDSHIP: Readonly<Partial<Record<NemesisName, string>>> = {
  'disk-full': ELSEWHERE,
  'slow-disk': ELSEWHERE,
  'oom-kill': ELSEWHERE,
  crowd: ELSEWHERE,
  'upgrade-server': ELSEWHERE,
}

/** The errands of the clients. */
export async function chooseErrands(
  client: LockClient,
  lines: readonly LineSpec[],
  asked: RunOptions['errands'],
): Promise<{ readonly errands: readonly ErrandKind[]; readonly notRun: readonly NotRun[] }> {
  // A line of its own, so that no other client is in the way.
  const lacks = (await client.lacks?.(`${lines[0]?.name ?? ''}:asked`)) ?? null
  const errands: ErrandKind[] = []
  const notRun: NotRun[] = []
  for (const kind of ERRANDS) {
    const cannot = lacks === null && kind !== 'visit' ? 'the client can only make visits' : lacks?.[kind]
    const why = cannot ?? lacksLines(lines, kind) ?? (asked?.includes(kind) === false ? NOT_ASKED : null)
    if (why === null) errands.push(kind)
    else notRun.push({ nemesis: kind, why })
  }
  return { errands, notRun }
}
