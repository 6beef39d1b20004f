/** What every command of the command line has. */
import type { Given, Syntax } from './args.ts'

export interface Command {
  readonly syntax: Syntax
  /** Shown by --help: usage, options, examples, exit codes. */
  readonly help: string
  /** Does it, and answers the exit code. */
  execute(given: Given): Promise<number>
}

/** Options of every command that reads locks. */
export const STORE_HELP = `\
  --store URL     where the locks are kept; else $HOLDFAST_STORE, else a SQLite file of this user:
                  \${XDG_STATE_HOME:-~/.local/state}/holdfast/locks.db`
