/** One case of the suite, as any test runner can use it. */
import { Rig, type StoreUnderTest } from './rig.ts'

export interface ConformanceCase {
  readonly name: string
  /** The law it belongs to, as in docs/laws.md. */
  readonly law: string
  readonly timeoutMs: number
  run(): Promise<void>
}

/** A case as it is written down: it gets a rig, and need not clean up. */
export interface Draft {
  readonly law: string
  readonly name: string
  readonly timeoutMs?: number
  run(rig: Rig): Promise<void>
}

const TIMEOUT_MS = 60_000

export function bind(draft: Draft, store: StoreUnderTest): ConformanceCase {
  return {
    law: draft.law,
    name: draft.name,
    timeoutMs: draft.timeoutMs ?? TIMEOUT_MS,
    async run() {
      const rig = new Rig(store)
      const stray: unknown[] = []
      const onStray = (reason: unknown): void => {
        stray.push(reason)
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
    },
  }
}
