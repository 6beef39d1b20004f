/** Who holds: the places at the front of a line whose weights fit together, by the one rule of the contract. */
import { isGranted } from '../../contract/driver.ts'

/**
 * @param places the line, in order, or its front.
 * @param extra how much heavier a raised place ahead is for a place that was not granted beside it.
 */
export function holdersOf<P extends { readonly weight: number }>(
  places: Iterable<P>,
  capacity: number,
  extra: (place: P) => number = () => 0,
): P[] {
  const holders: P[] = []
  let ahead = 0
  for (const place of places) {
    const { weight } = place
    if (!isGranted({ weight, capacity }, { ahead: ahead + extra(place) })) break
    ahead += weight
    holders.push(place)
  }
  return holders
}
