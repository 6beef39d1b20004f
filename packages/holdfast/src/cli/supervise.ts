/** Runs a program under a hold, and stops the program when the hold ends. */
import { basename } from 'node:path'
import type { Held } from '../hold/held.ts'
import { credentialOf } from '../fence/proof.ts'
import { formatDuration } from './duration.ts'
import { EXIT, programExit, unstartedExit } from './exit.ts'
import type { Ending, Guard } from './guard.ts'
import { bootMs } from './orders.ts'
import { complain, debug } from './output.ts'
import type { Stage } from './stage.ts'
import { publicUrl } from './store.ts'
import type { Task } from './task.ts'

/** How the program ended. */
export interface End {
  /**
   * Why the program had to stop: a loss, or --max-hold. null: the program ended by itself, and `exit` is its own code.
   */
  readonly why: string | null
  readonly exit: number
  /** What became of the program, for people. */
  readonly fate: string
}

export async function supervise(task: Task, held: Held, guard: Guard, stage: Stage): Promise<End> {
  // The guardian lives as long as any process of the program. Tie our place to the guardian before the program starts.
  // Otherwise: we are killed right after the start; our place counts as dead; the next waiter is served while the
  // program goes on.
  if (guard.pid !== undefined) await stage.tie(guard.pid, { group: false })
  // A signal that came together with the grant still ends the wait.
  stage.signals.interrupt.throwIfAborted()
  held.assertHeld()
  stage.signals.passOn()
  let loss: string | null = null
  let isOver = false
  held.signal.addEventListener('abort', () => {
    loss ??= held.signal.reason instanceof Error ? held.signal.reason.message : 'the lock was lost'
    guard.stop()
  })
  // A little early: at the end of the lease the next holder begins, and by then the program must be gone, not only have
  // got a KILL.
  const leaseUntilMs = (): number => bootMs() + held.remainingMs - task.ttlMs / 20
  const reporting = setInterval(() => {
    // 0 means that the store is being asked, or that the lock is lost, which is reported elsewhere.
    if (held.remainingMs > 0) guard.extend(leaseUntilMs())
  }, task.ttlMs / 10)
  // Not `maxHoldMs` of the lock, which would give the lock up at that moment. Here we hold the lock until the program
  // has stopped.
  const over = after(task.maxHoldMs, () => {
    isOver = true
    guard.stop()
  })
  let ending: Ending
  try {
    ending = await guard.run(
      {
        file: task.file,
        args: task.args,
        env: environment(task, held),
        leaseUntilMs: leaseUntilMs(),
        noticeMs: Math.min(task.graceMs, task.ttlMs / 4),
        graceMs: task.graceMs,
      },
      {
        started(pid) {
          stage.signals.attach(pid)
          // Tie the place to the program, too, in case the guardian is killed as well.
          stage.tie(pid).catch(debug)
        },
        expiring() {
          loss ??= `the lease of lock ${JSON.stringify(task.name)} could not be renewed in time`
        },
      },
    )
  } finally {
    clearInterval(reporting)
    clearTimeout(over)
    stage.signals.detach()
  }
  if (held.state === 'lost') loss ??= `lock ${JSON.stringify(task.name)} was lost`
  const fate = fateOf(task, ending)
  if (loss !== null) return { why: loss, exit: EXIT.lost, fate }
  if (!isOver) return { why: null, exit: endingExit(task, ending), fate }
  return { why: `${JSON.stringify(task.name)} was held for ${formatDuration(task.maxHoldMs)}`, exit: EXIT.over, fate }
}

function after(ms: number, then: () => void): NodeJS.Timeout | undefined {
  return ms === Number.POSITIVE_INFINITY ? undefined : setTimeout(then, ms)
}

function endingExit(task: Task, ending: Ending): number {
  if (ending.kind === 'ended') return programExit(ending.code, ending.signal)
  if (ending.kind === 'refused') return unstartedExit(task.file, ending.code)
  complain('the guardian process was killed; the program was killed after it, since it could have outlived the lock')
  return EXIT.internal
}

function fateOf(task: Task, ending: Ending): string {
  if (ending.kind === 'unguarded') return `${basename(task.file)} was killed`
  if (ending.kind === 'refused') return 'the program was not running'
  const end = ending.signal === null ? `ended with ${ending.code}` : `was ended by ${ending.signal}`
  return `${basename(task.file)} ${end}`
}

/** What the program needs to act in the name of the hold: with token and place it can prove the hold to a guard. */
function environment(task: Task, held: Held): Record<string, string> {
  const credential = credentialOf(held)
  const isFenced = credential?.mode === 'exclusive' && credential.fenced
  return {
    HOLDFAST_LINE: task.name,
    HOLDFAST_TOKEN: String(held.token),
    ...(isFenced ? { HOLDFAST_PLACE: credential.place } : {}),
    HOLDFAST_TTL_MS: String(task.ttlMs),
    HOLDFAST_STORE: publicUrl(task.store),
  }
}
