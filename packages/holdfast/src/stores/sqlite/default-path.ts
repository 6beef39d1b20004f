/** Where the locks of this user are when nothing else is said. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** `$XDG_STATE_HOME/holdfast/locks.db`, or the same below `~/.local/state`. */
export function defaultPath(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const state = env.XDG_STATE_HOME ?? ''
  // The convention asks that a relative path in the variable be ignored.
  const folder = isAbsolute(state) ? state : join(env.HOME || homedir(), '.local', 'state')
  return join(folder, 'holdfast', 'locks.db')
}
