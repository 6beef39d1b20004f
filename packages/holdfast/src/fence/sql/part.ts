/** What a guard does with one kind of client: each dialect is one of these. */
import type { Proof } from '../proof.ts'

/** `table` is quoted already. `R` is what a call gives: a dialect that works at once says so. */
export interface Part<T, R = Promise<void> | void> {
  create(table: string): string
  check(tx: T, table: string, resource: string, proof: Proof): R
  forget(tx: T, table: string, resource: string): R
  setUp(tx: T, table: string): R
}
