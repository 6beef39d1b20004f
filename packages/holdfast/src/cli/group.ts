/** A program and all it has started: one process group. */

/** Sends a signal to all of the group. False: there is nobody left in it. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ESRCH') return false
    // All that are left have changed their user: alive, but out of our reach.
    if (code === 'EPERM') return true
    throw error
  }
}

/** Asks the group to end. One that is stopped must be continued, or it would never see that it was asked. */
export function askToEnd(pid: number): void {
  signalGroup(pid, 'SIGTERM')
  signalGroup(pid, 'SIGCONT')
}

const LOOK_MS = 20

/** Settles when nobody is left in the group, or after `patienceMs`: a zombie that nobody reaps stays for ever. */
export async function groupGone(pid: number, patienceMs: number): Promise<void> {
  const until = performance.now() + patienceMs
  while (signalGroup(pid, 0) && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
