/**
 * Reads, then writes without letting go, and reads again. Each write is a visit of its own, over that of the reader.
 */
import type { Upgrade } from '../generator/errand.ts'
import type { UpgradeClaim } from './lock-client.ts'
import { pause, type Visitor } from './visitor.ts'

/** What an upgradeable lock weighs while it reads: more than half, so that two never share a line. */
const share = (capacity: number): number => Math.floor(capacity / 2) + 1

export async function runUpgrade(visitor: Visitor, { line, waitMs, stayMs, writes }: Upgrade): Promise<void> {
  const { client, stop } = visitor
  const reader = { line, exclusive: false, weight: share(line.capacity), waitMs, stayMs }
  const i = visitor.ask({ ...reader, errand: 'upgrade' })
  const claim = await visitor.answered(
    i,
    () => client.upgradeable?.({ line, waitMs, signal: stop }) ?? Promise.resolve(null),
  )
  if (claim === null) return
  try {
    for (const [at, wish] of writes.entries()) {
      // Once it has written, its reader's token is older than its own last step.
      if (at === 0 && !(await visitor.step(i, 'read', reader, claim))) break
      await pause(stayMs, stop)
      if (!(await write(visitor, { i, claim, reader, wish }))) break
    }
    await visitor.release(i, claim)
  } finally {
    visitor.leave(i, line)
  }
}

interface Write {
  readonly i: number
  readonly claim: UpgradeClaim
  readonly reader: { readonly line: Upgrade['line'] }
  readonly wish: Upgrade['writes'][number]
}

/** false: the hold is gone, so there is nothing to write with. */
async function write(visitor: Visitor, { i, claim, reader: { line }, wish }: Write): Promise<boolean> {
  const { waitMs, stayMs } = wish
  const writer = { line, exclusive: true, upgraded: true, stayMs }
  const over = visitor.ask({ ...writer, weight: line.capacity, waitMs, over: i, errand: 'upgrade' })
  const upgraded = await visitor.answered(over, () => claim.upgrade({ waitMs, signal: visitor.stop }))
  // Other readers stayed: this holder still reads, and may try again.
  if (upgraded === null) return true
  try {
    const isDone = await visitor.act(over, writer, upgraded)
    await visitor.release(over, upgraded)
    return isDone
  } finally {
    visitor.leave(over, line)
  }
}
