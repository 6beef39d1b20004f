/**
 * The token of a hold. The store numbers the places of a line; a place may be issued several times inside its process,
 * by hand-over or by an upgrade, and each issue has a token of its own: all above those of earlier places.
 */

/** A place can be issued this many times: the tokens of its issues differ in their last ten bits. */
export const ISSUES_PER_PLACE = 1024n
/** The number of the last issue of a place. */
export const ISSUE_MAX = 1023

/** `place` is the number that the store gave the place; `issue` counts from 0. */
export function tokenOf(place: bigint, issue: number): bigint {
  return place * ISSUES_PER_PLACE + BigInt(issue)
}
