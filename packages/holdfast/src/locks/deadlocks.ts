/** Finds circles of waiters across processes, from what everybody can see in the store. */
import type { Core } from '../acquire/core.ts'
import { type Entangled, findCircles, findEntangled } from '../hold/circles.ts'
import { tokenOf } from '../hold/token.ts'
import type { LineView } from '../contract/driver.ts'
import { pause } from '../kit/pause.ts'

/** One of the waiters in a circle. */
export interface DeadlockParty {
  /** The lock that this waiter waits for. */
  readonly line: string
  readonly label: string
  readonly host: string
  readonly pid: number
  /** How long it has waited. */
  readonly waitingMs: number
  /** The locks that it holds meanwhile. */
  readonly holds: readonly { readonly line: string; readonly token: bigint }[]
}

/** Each waits for the next, and the last for the first. */
export type Deadlock = readonly DeadlockParty[]

/** Lines are read one after another, so one look may mix two moments. Only a circle that two looks show is real. */
const SECOND_LOOK_MS = 100

export async function findDeadlocks(core: Core): Promise<Deadlock[]> {
  const first = findEntangled(await look(core))
  if (first.length === 0) return []
  await pause(core.runtime, SECOND_LOOK_MS)
  const known = new Set(first.map(keyOf))
  const lines = await look(core)
  const still = findEntangled(lines)
  return findCircles(still)
    .filter((circle) => circle.every((one) => known.has(keyOf(one))))
    .map((circle) => circle.map(party))
}

async function look(core: Core): Promise<LineView[]> {
  const lines: LineView[] = []
  for await (const line of core.driver.list('')) lines.push(line)
  return lines
}

const keyOf = ({ line, place }: Entangled): string => `${place.token} ${line}`

function party({ line, place }: Entangled): DeadlockParty {
  const { label, host, pid, ageMs, holds = [] } = place
  return {
    line,
    label,
    host,
    pid,
    waitingMs: ageMs,
    holds: holds.map((held) => ({ line: held.line, token: tokenOf(held.token, 0) })),
  }
}
