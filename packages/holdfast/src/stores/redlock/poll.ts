/** Asks every server at once, and goes on as soon as what was heard is enough. */
import type { Runtime } from '../../contract/runtime.ts'
import type { Items, Voter } from './voter.ts'

/** A quorum has answered and it is still not decided: how long the others may take. */
const GRACE_MS = 10

export interface Poll {
  readonly voters: readonly Voter[]
  readonly runtime: Runtime
  /** How long all of it may take. */
  readonly limitMs: number
  send(voter: Voter): Promise<Items>
  /** Called for late answers, too. */
  hear(voter: Voter, items: Items): void
  miss(voter: Voter, error: Error): void
  isDecided(): boolean
  isMostlyHeard(): boolean
}

/** Settles when it is decided, when all have answered, or when the time is over. Never rejects. */
export function poll(of: Poll): Promise<void> {
  return new Promise((resolve) => {
    let pending = of.voters.length
    let isOver = false
    let grace: (() => void) | null = null
    const end = (): void => {
      if (isOver) return
      isOver = true
      limit()
      grace?.()
      resolve()
    }
    const limit = of.runtime.after(of.limitMs, end, true)
    const settled = (_counted: void): void => {
      pending--
      if (isOver) return
      if (pending === 0 || of.isDecided()) end()
      else if (grace === null && of.isMostlyHeard()) grace = of.runtime.after(GRACE_MS, end, true)
    }
    for (const voter of of.voters) {
      of.send(voter).then(
        (items) => settled(of.hear(voter, items)),
        (error: unknown) => settled(of.miss(voter, error instanceof Error ? error : new Error(String(error)))),
      )
    }
  })
}
