/** Only the owner releases: a release is not confirmed to one whose line had gone to another meanwhile. */
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import { firstOfPlace, forgotOne, type Hold, isStillborn } from './trial.ts'

export const owner: Checker = (trial) => {
  const found = none()
  for (const { spec, holds } of trial.lines.values()) {
    const byGrant = holds.filter((hold) => !isStillborn(hold)).toSorted((a, b) => a.granted - b.granted)
    const releases = holds
      .filter((hold) => hold.released === 'ok' && hold.releasedAt !== null && hold.exclusive)
      .toSorted((a, b) => (a.releasedAt ?? 0) - (b.releasedAt ?? 0))
    const first = firstOfPlace(holds)
    let at = 0
    let latest: Hold | null = null
    for (const hold of releases) {
      for (; at < byGrant.length && (byGrant[at] as Hold).granted < (hold.releasedAt ?? 0); at++)
        latest = byGrant[at] ?? null
      // Granted later than this one, and before this one let go: the line was not this one's to release any more.
      if (latest === null || latest === hold || latest.granted <= hold.granted) continue
      const finding = {
        rule: 'owner' as const,
        line: spec.name,
        at: hold.releasedAt ?? 0,
        message: `${hold.p} was told that its release succeeded, when ${latest.p} had already been granted the line`,
        processes: [hold.p, latest.p],
      }
      if (forgotOne(trial, first, hold, latest)) found.exposures.push(finding)
      else found.violations.push(finding)
    }
  }
  return found
}
