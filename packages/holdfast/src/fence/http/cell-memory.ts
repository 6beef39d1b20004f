/** A memory of newest tokens in a Holdfast store: shared by all processes that use it. */
import type { Holdfast } from '../../holdfast.ts'
import { type Proof, staleToken } from '../proof.ts'
import type { Remember } from './guard.ts'

interface Seen {
  /** Decimal: JSON numbers are rounded above 2^53. */
  readonly token: string
  readonly place: string
}

/**
 * Each resource has a cell, `fence:` and its name: names may have 506 bytes. It is compared and set, so the newest wins
 * everywhere.
 */
export function cellMemory(hf: Pick<Holdfast, 'cell'>): Remember {
  return async (resource: string, proof: Proof) => {
    const cell = hf.cell<Seen>(`fence:${resource}`)
    for (;;) {
      const { value, version } = await cell.read()
      if (value !== undefined) {
        const newest = BigInt(value.token)
        if (proof.token < newest) throw staleToken(resource, proof, newest)
        if (proof.token === newest && proof.place !== value.place) throw staleToken(resource, proof, newest)
        if (proof.token === newest) return
      }
      // Somebody else was faster: what they wrote is judged anew.
      if ((await cell.write({ token: String(proof.token), place: proof.place }, version)) !== null) return
    }
  }
}
