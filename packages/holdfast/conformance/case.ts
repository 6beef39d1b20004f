/** One case of the suite, as any test runner can use it. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Rig, type StoreUnderTest } from './rig.ts'

/** One case of the suite, for any test runner. */
export interface ConformanceCase {
  readonly name: string
  /** The law it belongs to, as in docs/explain/laws.md. */
  readonly law: string
  /** How long it may take. */
  readonly timeoutMs: number
  /** Rejects when the driver breaks the law. */
  run(): Promise<void>
}

/** A case as its author writes it: it gets a rig, and need not clean up. */
export interface Draft {
  readonly law: string
  readonly name: string
  readonly timeoutMs?: number
  run(rig: Rig): Promise<void>
}

const TIMEOUT_MS = 120_000

/** The case that runs. Cases run beside each other, and only the one that fails answers for what it leaves behind. */
const running = new AsyncLocalStorage<Rig>()

export function bind(draft: Draft, store: StoreUnderTest): ConformanceCase {
  return {
    law: draft.law,
    name: draft.name,
    timeoutMs: draft.timeoutMs ?? TIMEOUT_MS,
    run() {
      const rig = new Rig(store)
      return running.run(rig, () => runOn(rig, draft))
    },
  }
}

async function runOn(rig: Rig, draft: Draft): Promise<void> {
  const stray: unknown[] = []
  const onStray = (reason: unknown): void => {
    const owner = running.getStore()
    if (owner === undefined || owner === rig) stray.push(reason)
  }
  process.on('unhandledRejection', onStray)
  try {
    await draft.run(rig)
  } finally {
    await rig.close()
    // Rejections are reported a turn after they happened.
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onStray)
  }
  if (stray.length > 0) throw new Error('a rejection was left unhandled', { cause: stray[0] })
}
