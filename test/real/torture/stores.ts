/** A short torture of one store, and the list of what could not be done to it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installPackages } from '../../../src/testbed/install.ts'
import { requireServers, skipped } from '../../../src/testbed/require.ts'
import type { ServerKind } from '../../../src/testbed/find.ts'
import { runTool } from '../../../src/testbed/tool.ts'
import { spawnBackend, type Spawn } from '../../../src/torture/backend/spawn.ts'
import { unavailable } from '../../../src/torture/conductor/choice.ts'
import { withDefaults } from '../../../src/torture/defaults.ts'
import { NEMESES, type NemesisName } from '../../../src/torture/nemesis/names.ts'
import { textReport } from '../../../src/torture/report/text.ts'
import { torture } from '../../../src/torture/torture.ts'
import notRun from './not-run.json' with { type: 'json' }

const CHAOS_MS = 10_000

interface Short {
  readonly store: Spawn
  /** What has to be installed; null: nothing. */
  readonly server: ServerKind | null
  readonly nemeses: readonly NemesisName[]
}

/** The clock of a server is moved by a small library, which has to be compiled. */
async function requireCompiler(): Promise<void> {
  try {
    await runTool('cc', ['--version'])
  } catch (error) {
    if (process.env['HOLDFAST_TEST_INSTALL'] !== '1') throw error
    await installPackages(['gcc', 'libc6-dev'])
  }
}

export async function shortTorture({ store, server, nemeses }: Short): Promise<void> {
  if (server !== null && skipped(server)) return
  if (server !== null) await requireServers([server])
  await requireCompiler()

  test(`${store} holds`, { timeout: 240_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-short-'))
    const backend = await spawnBackend(store)
    const seed = Math.floor(Math.random() * 1e6)
    try {
      const lacking = NEMESES.filter((name) => unavailable(backend, name) !== null)
      expect(lacking, 'what can not be done to it is what the committed list says').toEqual(
        (notRun as Record<string, string[]>)[store],
      )
      const history = join(folder, 'history.jsonl')
      const { judgement, notRun: missed } = await torture(
        withDefaults({ backend, chaosMs: CHAOS_MS, seed, nemeses, history }),
      )
      expect(judgement.verdict, textReport(judgement, missed)).toBe('valid')
    } finally {
      await backend.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
}
