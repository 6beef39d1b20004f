/** Prints what has changed from look to look, if there is no terminal to redraw. */
import type { LineView } from '../contract/driver.ts'
import type { LockLook } from './looks.ts'
import { complain } from './output.ts'
import { printable } from './table.ts'

export interface LockChange extends LockLook {
  /** Locks whose holders or waiters have changed since the last look; a lock that is free again has capacity 0. */
  readonly changed: readonly LineView[]
}

/** Calls back for each look that differs from the one before. Reports an outage once, on stderr. */
export async function followChanges(
  all: AsyncIterable<LockLook>,
  tell: (change: LockChange) => void,
  count: number = Number.POSITIVE_INFINITY,
): Promise<void> {
  let last: ReadonlyMap<string, string> | null = null
  let isOut = false
  let seen = 0
  for await (const look of all) {
    if (look.outage !== null && !isOut) complain(`${printable(look.outage.message)}; looking again`)
    isOut = look.outage !== null
    if (!isOut) {
      const now = new Map(look.lines.map((line) => [line.name, fingerprint(line)]))
      const before: ReadonlyMap<string, string> = last ?? new Map<string, string>()
      const changed = [
        ...look.lines.filter(({ name }) => before.get(name) !== now.get(name)),
        ...[...before.keys()].filter((name) => !now.has(name)).map(free),
      ]
      if (changed.length > 0 || last === null) tell({ ...look, changed })
      last = now
    }
    if (++seen >= count) return
  }
}

function free(name: string): LineView {
  return { name, capacity: 0, holders: [], waiters: [] }
}

function fingerprint({ capacity, holders, waiters }: LineView): string {
  return [capacity, ...holders.map(({ token }) => token), '', ...waiters.map(({ token }) => token)].join(' ')
}
