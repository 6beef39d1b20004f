/** Who is granted in a line: those in front whose weights fit together. */
import type { Line, StoredPlace } from './file.ts'

/**
 * The live weight in front of a place, which may be new. One that was raised waits for all that were granted beside it.
 */
export function aheadOf(line: Line, place: StoredPlace): number {
  const { places, raised } = line
  const till = raised?.id === place.id ? raised.beside : place.token
  const front = places.filter((other) => other.id !== place.id && other.token <= till)
  return front.reduce((sum, { weight }) => sum + weight, raised?.id === place.id ? 0 : extraFor(line, place))
}

export function holdersOf(line: Line): StoredPlace[] {
  let used = 0
  const end = line.places.findIndex((place) => {
    used += place.weight
    return used + extraFor(line, place) > line.capacity
  })
  return end === -1 ? line.places : line.places.slice(0, end)
}

/** What a place weighs in the end: a raised one its new weight. */
export function weightIn({ raised }: Line, place: StoredPlace): number {
  return raised?.id === place.id ? raised.weight : place.weight
}

/** Removes those that do not stay, and marks those that are granted now. */
export function settle(line: Line, stays: (place: StoredPlace) => boolean = () => true): void {
  line.places = line.places.filter(stays)
  if (!line.places.some(({ id }) => id === line.raised?.id)) line.raised = null
  for (const place of holdersOf(line)) {
    if (line.raised?.id !== place.id || aheadOf(line, place) === 0) place.granted = true
  }
}

/** A raised place is heavier for those that were not granted beside it. */
function extraFor({ places, raised }: Line, place: StoredPlace): number {
  const heavier = places.find(({ id }) => id === raised?.id)
  return raised === null || heavier === undefined || place.token <= raised.beside ? 0 : raised.weight - heavier.weight
}
