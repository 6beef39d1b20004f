/** `holdfast run`: runs a program while holding a lock. */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { UsageError } from '../core/errors.ts'
import type { Held } from '../core/held.ts'
import type { Driver } from '../driver.ts'
import type { SqliteDriver } from '../drivers/sqlite/index.ts'
import type { Holdfast } from '../holdfast.ts'
import type { Given } from './args.ts'
import { EXIT, signalExit } from './exit.ts'
import { type Ending, Guard } from './guard.ts'
import { bootMs } from './orders.ts'
import { complain, debug } from './output.ts'
import { type Plan, readPlan } from './plan.ts'
import { Interrupted, Signals } from './signals.ts'
import { publicUrl } from './store.ts'

export { help, syntax } from './plan.ts'

/** How long the store may take to hear that the lock is free; it learns it from the lease otherwise. */
const FAREWELL_MS = 5_000

export async function execute(given: Given): Promise<number> {
  const plan = readPlan(given)
  if (process.platform === 'win32') throw new UsageError('run needs process groups, which Windows does not have')
  const signals = new Signals()
  const guard = new Guard()
  let hf: Holdfast | null = null
  try {
    const [{ openDriver }, { makeInstance }, { acquire }] = await Promise.all([
      import('../open.ts'),
      import('../holdfast.ts'),
      import('./claim.ts'),
    ])
    const { driver, options } = await openDriver(plan.store, { ttlMs: plan.ttlMs, label: plan.label })
    hf = makeInstance(driver, options)
    if (hf.traits.scope === 'process') {
      throw new UsageError('this store is seen by one process only, so it locks nothing here; use a sqlite: file')
    }
    const held = await acquire(hf, plan.name, plan.claim, { waitMs: plan.waitMs, signal: signals.interrupt })
    const tie = tieOf(driver, plan.name)
    // The guardian lives as long as anything of the program does. Tied before the program is started: `run` is killed
    // right after the start; its place would count as dead; the next would be served while the program goes on.
    if (guard.pid !== undefined) await tie(guard.pid, { group: false })
    return await supervise(plan, held, guard, signals, (pid) => {
      signals.attach(pid)
      // And the program itself, in case that the guardian is killed as well.
      tie(pid).catch(debug)
    })
  } catch (error) {
    if (error instanceof Interrupted) return signalExit(error.signal)
    throw error
  } finally {
    guard.dismiss()
    if (hf !== null) await farewell(hf)
  }
}

/** On stores that can tell that a process has died: makes the place of `run` live while another process does, too. */
type Tie = (pid: number, options?: { readonly group?: boolean }) => Promise<number>

function tieOf(driver: Driver & { alsoAlive?: SqliteDriver['alsoAlive'] }, line: string): Tie {
  return async (pid, options) => (await driver.alsoAlive?.(line, pid, options)) ?? 0
}

/** Runs the program under the hold, and answers the exit code. */
async function supervise(
  plan: Plan,
  held: Held,
  guard: Guard,
  signals: Signals,
  started: (pid: number) => void,
): Promise<number> {
  // A signal that came together with the grant still ends the wait.
  signals.interrupt.throwIfAborted()
  held.assertHeld()
  signals.passOn()
  let trouble: string | null = null
  held.signal.addEventListener('abort', () => {
    trouble ??= held.signal.reason instanceof Error ? held.signal.reason.message : 'the lock was lost'
    guard.stop()
  })
  // A little early: at the end of the lease the next holder begins, and the program must be gone, not just be sent a KILL.
  const leaseUntilMs = (): number => bootMs() + held.remainingMs - plan.ttlMs / 20
  const noticeMs = Math.min(plan.graceMs, plan.ttlMs / 4)
  const reporting = setInterval(() => {
    // 0 means that the store is being asked, or that the lock is lost, which is told otherwise.
    if (held.remainingMs > 0) guard.extend(leaseUntilMs())
  }, plan.ttlMs / 10)
  let ending: Ending
  try {
    ending = await guard.run(
      {
        file: plan.file,
        args: plan.args,
        env: environment(plan, held),
        leaseUntilMs: leaseUntilMs(),
        noticeMs,
        graceMs: plan.graceMs,
      },
      {
        started,
        expiring: () => {
          trouble ??= `the lease of line ${JSON.stringify(plan.name)} could not be renewed in time`
        },
      },
    )
  } finally {
    clearInterval(reporting)
  }
  if (trouble === null && held.state !== 'lost') return endingExit(plan, ending)
  complain(`${trouble ?? `line ${JSON.stringify(plan.name)} was lost`}; ${fate(plan, ending)}`)
  return EXIT.lost
}

function endingExit(plan: Plan, ending: Ending): number {
  if (ending.kind === 'ended') {
    return ending.signal === null ? (ending.code ?? EXIT.internal) : signalExit(ending.signal)
  }
  if (ending.kind === 'refused') {
    // ENOENT is also said of a script whose interpreter is missing: that one was found, and can't be run.
    const isMissing = ending.code === 'ENOENT' && !(plan.file.includes('/') && existsSync(plan.file))
    complain(`${isMissing ? 'there is no program' : "can't run"} ${JSON.stringify(plan.file)}: ${ending.code}`)
    return isMissing ? EXIT.notFound : EXIT.cannotRun
  }
  complain('the guardian process was killed; the program was killed after it, since it could have outlived the lock')
  return EXIT.internal
}

function fate(plan: Plan, ending: Ending): string {
  if (ending.kind !== 'ended') return 'the program was not running'
  const end = ending.signal === null ? `ended with ${ending.code}` : `was ended by ${ending.signal}`
  return `${basename(plan.file)} ${end}`
}

function environment(plan: Plan, held: Held): Record<string, string> {
  return {
    HOLDFAST_LINE: plan.name,
    HOLDFAST_TOKEN: String(held.token),
    HOLDFAST_TTL_MS: String(plan.ttlMs),
    HOLDFAST_STORE: publicUrl(plan.store),
  }
}

/** Releases. The program's result is what counts: a store that can't be told any more only costs others the lease. */
async function farewell(hf: Holdfast): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FAREWELL_MS)
  })
  await Promise.race([hf.close().catch(debug), patience])
  clearTimeout(timer)
}
