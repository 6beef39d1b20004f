/** A short torture of one store, and the list of what could not be done to it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFailed, test } from 'vitest'
import type { ServerKind } from '../../src/testbed/needs.ts'
import { requireServers, requireTools, skipped } from '../../src/testbed/require.ts'
import type { GivenServers } from '../../src/testbed/given.ts'
import { oomProblem } from '../../src/torture/backend/oom-kill.ts'
import { spawnBackend, type Spawn } from '../../src/torture/backend/spawn.ts'
import { unavailable } from '../../src/torture/conductor/choice.ts'
import { ERRANDS, type ErrandKind } from '../../src/torture/generator/errand.ts'
import { withDefaults } from '../../src/torture/defaults.ts'
import { NEMESES, type NemesisName } from '../../src/torture/nemesis/names.ts'
import { textReport } from '../../src/torture/report/text.ts'
import { torture } from '../../src/torture/torture.ts'
import notRun from './not-run.json' with { type: 'json' }

/** Goes on a little longer, until every fault was made. */
const CHAOS_MS = 5_000
/** A fault that met nobody shows nothing: it is made again, with another seed. */
const TRIES = 3

interface Short {
  readonly store: Spawn
  /** What has to be installed; null: nothing. */
  readonly server: ServerKind | null
  readonly nemeses: readonly NemesisName[]
  /** What its servers are upgraded to; default nothing. */
  readonly newer?: GivenServers
}

/**
 * What can't be done to it is what the committed list says, no more and no less. Only root can make networks and mount
 * disks, and not even root can limit memory in most containers.
 */
async function expectedLacks({ store, newer }: Short): Promise<string[]> {
  const list: readonly string[] = notRun[store]
  const here = new Set<string>(process.getuid?.() === 0 ? [] : ['unplug', 'disk-full'])
  if ((await oomProblem()) !== null) here.add('oom-kill')
  return NEMESES.filter((name) =>
    name === 'upgrade-server' && newer !== undefined ? false : list.includes(name) || here.has(name),
  )
}

function isListed(store: Spawn, kind: ErrandKind): boolean {
  const list: readonly string[] = notRun[store]
  return list.includes(kind)
}

export async function shortTorture(short: Short): Promise<void> {
  const { store, server, nemeses, newer } = short
  if (server !== null && skipped(server)) return
  if (server !== null) await requireServers([server])
  await requireTools(['compiler', 'networks'])

  test(`${store} holds through ${nemeses.join(', ')}`, { timeout: 240_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-short-'))
    const backend = await spawnBackend(store, newer)
    const seed = Math.floor(Math.random() * 1e6)
    let last = ''
    onTestFailed(() => void process.stderr.write(`the run that failed, or hung: ${last}\n`))
    try {
      const lacking = NEMESES.filter((name) => unavailable(backend, name) !== null)
      expect(lacking, 'packages/holdfast-lab/test/torture/not-run.json').toEqual(await expectedLacks(short))
      const history = join(folder, 'history.jsonl')
      const possible = nemeses.filter((name) => !lacking.includes(name))
      let missing = possible
      let undone: readonly string[] = ERRANDS.filter((kind) => !isListed(store, kind))
      for (let tries = 0; tries < TRIES && missing.length + undone.length > 0; tries++) {
        const made = missing.length > 0 ? missing : possible
        const o = { backend, chaosMs: CHAOS_MS, seed: seed + tries * TRIES, nemeses: made, history }
        last = `npx holdfast torture --spawn ${store} --seconds 5 --seed ${o.seed} --nemesis ${made.join(',')}`
        const { judgement, notRun: missed } = await torture(withDefaults(o))
        expect(judgement.verdict, textReport(judgement, missed)).toBe('valid')
        const refused = ERRANDS.filter((kind) => missed.some(({ nemesis }) => nemesis === kind))
        expect(refused, 'errands in not-run.json').toEqual(ERRANDS.filter((kind) => isListed(store, kind)))
        undone = undone.filter((kind) => (judgement.counts.errands[kind]?.granted ?? 0) === 0)
        missing = missing.filter((name) => (judgement.counts.faults[name]?.hit ?? 0) === 0)
      }
      expect(undone, `errands that were never granted anything, from seed ${seed}`).toEqual([])
      expect(missing, `faults that never met a holder, from seed ${seed}`).toEqual([])
    } finally {
      await backend.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
}
