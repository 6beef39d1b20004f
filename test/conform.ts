/** Runs the conformance suite as vitest tests. */
import { describe, test } from 'vitest'
import { conformance, type StoreUnderTest } from '../conformance/index.ts'

export function conform(what: string, store: StoreUnderTest): void {
  describe(what, () => {
    for (const { law, name, timeoutMs, run } of conformance(store)) test(`${law}: ${name}`, run, timeoutMs)
  })
}
