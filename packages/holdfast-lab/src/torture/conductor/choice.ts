/** Which faults a run makes, and why it makes no others. */
import { CLIENT_AIMS, NET_AIMS } from '../nemesis/clients.ts'
import { NEMESES, type NemesisName } from '../nemesis/names.ts'
import { NOT_ASKED, type NotRun, type RunOptions } from './options.ts'

export function choose(o: Pick<RunOptions, 'backend' | 'nemeses'>): {
  readonly names: readonly NemesisName[]
  readonly notRun: readonly NotRun[]
} {
  const names: NemesisName[] = []
  const notRun: NotRun[] = []
  for (const nemesis of NEMESES) {
    const why = lack(o, nemesis)
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
  if (CLIENT_AIMS[name] !== undefined) return null
  if (backend === null) return 'the servers are not ours to break'
  const lacks = backend.lacks[name]
  if (lacks !== undefined) return lacks
  if (NET_AIMS[name] !== undefined || backend.deeds[name] !== undefined) return null
  return 'not known for this store'
}
