/** Where this user's locks are if no path is given. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** `$XDG_STATE_HOME/holdfast/locks.db`, or the same below `~/.local/state`. */
export function defaultPath(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const state = env.XDG_STATE_HOME ?? ''
  // The convention says to ignore a relative path in the variable.
  const folder = isAbsolute(state) ? state : join(env.HOME || homedir(), '.local', 'state')
  return join(folder, 'holdfast', 'locks.db')
}
