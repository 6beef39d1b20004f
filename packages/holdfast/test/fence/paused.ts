/**
 * The schedule that every guard is for: a holder reads, is stopped past its lease, another writes, and the first goes
 * on.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { holdfast } from '../../src/index.ts'
import type { Errand, Outcome } from './holder.ts'
import { openTarget, RESOURCE } from './target.ts'

const HOLDER = fileURLToPath(new URL('./holder.ts', import.meta.url))
const WRITES = 3

/** Gives how the paused holder's write ended; fails if any write that succeeded is lost. */
export async function pausedHolder(errand: Errand): Promise<Outcome> {
  const child = fork(HOLDER, [JSON.stringify(errand)], { execArgv: ['--import', 'tsx'] })
  const target = await openTarget(errand.kind, errand.target)
  const hf = await holdfast(target.store ?? errand.store, { ttlMs: errand.ttlMs, fairness: 'strict' })
  try {
    expect(await said(child)).toBe('has read')
    child.kill('SIGSTOP')
    // Granted when the lease of the stopped one has lapsed, and not before.
    const held = await hf.mutex(RESOURCE).acquire({ waitMs: 30_000 })
    for (let i = 0; i < WRITES; i++) await target.write(held, (await target.read(held)) + 1)
    child.kill('SIGCONT')
    const answer = said(child)
    child.send('write')
    const outcome = (await answer) as Outcome
    // One write of the paused holder before its pause, and those of the second: nothing lost, nothing added.
    expect(await target.read(held)).toBe(1 + WRITES)
    return outcome
  } finally {
    child.kill('SIGKILL')
    await hf.close()
    await target.close()
  }
}

async function said(child: NodeJS.EventEmitter): Promise<unknown> {
  const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown]
  return message
}
