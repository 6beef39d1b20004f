/** Who holds one lock, as the store shows it. */
import type { Driver, LineView, PlaceView } from '../contract/driver.ts'
import { tokenOf } from '../hold/token.ts'

/** The line of this name, with the tokens of the store; null: the line is empty. */
export async function findLine(driver: Driver, name: string): Promise<LineView | null> {
  // On some stores `list` goes through all names (Redis: SCAN). No single wait is worth that.
  if (driver.view !== undefined) return driver.view(name)
  for await (const line of driver.list(name)) if (line.name === name) return line
  return null
}

/** A line as people see it: its tokens compare with `held.token`, the first issue of the place. */
export function shownLine(line: LineView): LineView {
  return { ...line, holders: line.holders.map(shownPlace), waiters: line.waiters.map(shownPlace) }
}

function shownPlace(place: PlaceView): PlaceView {
  const { holds } = place
  const token = tokenOf(place.token, 0)
  if (holds === undefined) return { ...place, token }
  return { ...place, token, holds: holds.map((held) => ({ ...held, token: tokenOf(held.token, 0) })) }
}

export async function holdersOf(driver: Driver, name: string): Promise<readonly PlaceView[]> {
  const line = await findLine(driver, name)
  return line === null ? [] : shownLine(line).holders
}
