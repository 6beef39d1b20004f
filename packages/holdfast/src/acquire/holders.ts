/** Who holds one lock, as the store shows it. */
import type { Driver, LineView, PlaceView } from '../contract/driver.ts'
import { ISSUES_PER_PLACE } from '../hold/credential.ts'

/** The line of this name, places as the store numbers them; null: nobody stands in it. */
export async function findLine(driver: Driver, name: string): Promise<LineView | null> {
  // To list is to go through all names on some stores (Redis: SCAN), which no single wait is worth.
  if (driver.view !== undefined) return driver.view(name)
  for await (const line of driver.list(name)) if (line.name === name) return line
  return null
}

/** A line as people see it: tokens compare with `held.token`, the first issue of the place. */
export function shownLine(line: LineView): LineView {
  return { ...line, holders: line.holders.map(shownPlace), waiters: line.waiters.map(shownPlace) }
}

function shownPlace(place: PlaceView): PlaceView {
  const { holds } = place
  const token = place.token * ISSUES_PER_PLACE
  if (holds === undefined) return { ...place, token }
  return { ...place, token, holds: holds.map((held) => ({ ...held, token: held.token * ISSUES_PER_PLACE })) }
}

export async function holdersOf(driver: Driver, name: string): Promise<readonly PlaceView[]> {
  const line = await findLine(driver, name)
  return line === null ? [] : shownLine(line).holders
}
