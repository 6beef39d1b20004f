/** Runs the conformance suite as vitest tests. */
import { describe, test } from 'vitest'
import type { ConformanceCase, conformance, StoreUnderTest } from '../conformance/index.ts'

/**
 * A driver's built JS is judged by the built suite, its source by the suite's source: of each error class there must be
 * one, or core would not know the driver's errors. `fits` says which cases are run; default: all.
 */
export async function conform(
  what: string,
  store: StoreUnderTest,
  fits: (one: ConformanceCase) => boolean = () => true,
): Promise<void> {
  const suite = store.module.pathname.endsWith('.ts') ? '../conformance/index.ts' : '../build/conformance/index.js'
  const { conformance: makeCases } = (await import(new URL(suite, import.meta.url).href)) as {
    readonly conformance: typeof conformance
  }
  // Cases share nothing but the store, and most of their time is spent waiting: several at once (maxConcurrency).
  describe.concurrent(what, () => {
    for (const { law, name, timeoutMs, run } of makeCases(store).filter(fits)) test(`${law}: ${name}`, run, timeoutMs)
  })
}
