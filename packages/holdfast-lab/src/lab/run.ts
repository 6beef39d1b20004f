/** Runs one exhibit, and says whether it showed what it predicts. */
import { install, missing } from '../testbed/require.ts'
import { TestbedError } from '../testbed/error.ts'
import { type Kind, packagesOf } from '../testbed/needs.ts'
import { versionOf } from '../torture/backend/versions.ts'
import type { Exhibit, Report } from './exhibit.ts'
import type { Stage } from './stage.ts'

export async function runExhibit(exhibit: Exhibit, stage: Stage): Promise<Report> {
  const began = performance.now()
  try {
    const acts = await exhibit.run(stage)
    return {
      exhibit,
      acts,
      versions: (await Promise.all(exhibit.servers.map(versionOf))).join(', '),
      ms: performance.now() - began,
      shown: acts.every(({ claim, result }) => claim === result),
    }
  } finally {
    await stage.clear()
  }
}

/** What this machine has, and how it gets what it lacks. */
interface Machine {
  missing(kinds: readonly Kind[]): Promise<Kind[]>
  install(kinds: readonly Kind[]): Promise<void>
}

/** Makes sure of what these exhibits need. With `mayInstall` what is missing is installed, which needs root. */
export async function provide(
  exhibits: readonly Exhibit[],
  mayInstall: boolean,
  machine: Machine = { missing, install },
): Promise<void> {
  const kinds = [...new Set(exhibits.flatMap(({ servers, tools = [] }): Kind[] => [...servers, ...tools]))]
  const absent = await machine.missing(kinds)
  if (absent.length === 0) return
  if (mayInstall) await machine.install(absent)
  else {
    throw new TestbedError(
      `not installed: ${absent.join(', ')}; Debian has it in: ${packagesOf(absent).join(' ')} (as root, ` +
        `--install installs it)`,
    )
  }
}
