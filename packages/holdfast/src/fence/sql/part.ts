/** What a guard does with one kind of client: each dialect is one part. */
import type { Proof } from '../proof.ts'

/** `table` is quoted already. `R` is the result of a call; a dialect that works synchronously sets it. */
export interface Part<T, R = Promise<void> | void> {
  create(table: string): string
  check(tx: T, table: string, resource: string, proof: Proof): R
  forget(tx: T, table: string, resource: string): R
  setUp(tx: T, table: string): R
}
