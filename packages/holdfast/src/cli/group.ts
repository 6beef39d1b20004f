/** A program and all that it has started: one process group. */

/** Sends a signal to all processes of the group. False: no process is left in it. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ESRCH') return false
    // All that are left run as another user: they are alive, but we may not signal them.
    if (code === 'EPERM') return true
    throw error
  }
}

/** Asks the group to end. A stopped process must be continued, or it would never see the signal. */
export function askToEnd(pid: number): void {
  signalGroup(pid, 'SIGTERM')
  signalGroup(pid, 'SIGCONT')
}

const LOOK_MS = 20

/** Settles when no process is left in the group, or after `patienceMs`: a zombie that nobody reaps stays for ever. */
export async function groupGone(pid: number, patienceMs: number): Promise<void> {
  const until = performance.now() + patienceMs
  while (signalGroup(pid, 0) && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
