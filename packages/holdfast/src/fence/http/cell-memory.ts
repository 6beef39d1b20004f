/** Remembers the newest tokens in a Holdfast store, for all processes that use the store. */
import type { Holdfast } from '../../holdfast.ts'
import { type Proof, staleToken } from '../proof.ts'
import type { Remember } from './guard.ts'

interface Seen {
  /** Decimal: JSON numbers are rounded above 2^53. */
  readonly token: string
  readonly place: string
}

/**
 * Each resource has a cell named `fence:` and its name, so names may have 506 bytes. Compare-and-set makes the newest
 * token win everywhere.
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
      // Somebody else was faster: judge anew what they wrote.
      if ((await cell.write({ token: String(proof.token), place: proof.place }, version)) !== null) return
    }
  }
}
