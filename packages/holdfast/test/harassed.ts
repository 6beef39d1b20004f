/** Laws of the conformance suite, kept while somebody breaks the servers underneath. */
import type { ConformanceCase, conformance, StoreUnderTest } from '../conformance/index.ts'

/** Those that go through core, which asks again: an outage is over sooner than a lease. */
const LAWS = [
  /^60 contenders for 1 to 3 of 5 permits/,
  /^80 readers and writers/,
  /^200 contenders of two clients on a strict mutex/,
  /^abort at every step of a contended acquisition/,
  /^two that want the same locks in opposite orders/,
  /^concurrent updates of two clients lose none/,
  /^places stand in the order of their tokens/,
]
const PATIENCE_MS = 60_000

/** The laws, and more by their names, of a built driver. */
export async function lawsOf(store: StoreUnderTest, more: readonly RegExp[] = []): Promise<ConformanceCase[]> {
  const suite = new URL('../build/conformance/index.js', import.meta.url)
  const { conformance: makeCases } = (await import(suite.href)) as { readonly conformance: typeof conformance }
  const all = makeCases(store)
  return [...LAWS, ...more].map((name) => {
    const found = all.find((each) => name.test(each.name))
    if (found === undefined) throw new Error(`no case of the conformance suite is called ${name.source}`)
    return found
  })
}

/**
 * Each law holds, or an outage is told, for as long as the harassing lasts; and each has held, at the latest soon after
 * it.
 */
export async function holdWhile(laws: readonly ConformanceCase[], harass: () => Promise<void>): Promise<void> {
  const over = new AbortController()
  const harassed = harass().finally(() => over.abort())
  // Told below. Until then it must not pass for a rejection that the law under test left behind.
  harassed.catch(() => undefined)
  const held = new Set<ConformanceCase>()
  // One after the other: all at once, they kept a starved machine from electing anybody.
  while (!over.signal.aborted) {
    for (const law of laws) if (!over.signal.aborted && (await holds(law))) held.add(law)
  }
  await harassed
  for (const law of laws) {
    // The servers serve again; a client may still be on its way to one of them.
    for (const endMs = performance.now() + PATIENCE_MS; !held.has(law); ) {
      if (await holds(law)) held.add(law)
      else if (performance.now() > endMs) throw new Error(`${law.law}: ${law.name}: still an outage after the heal`)
    }
  }
}

/** False: an outage was told, which breaks no law. Anything else that goes wrong does. */
async function holds(law: ConformanceCase): Promise<boolean> {
  try {
    await law.run()
    return true
  } catch (error) {
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      if ('code' in cause && (cause.code === 'HF_UNREACHABLE' || cause.code === 'HF_UNKNOWN')) return false
    }
    throw new Error(`${law.law}: ${law.name}`, { cause: error })
  }
}
