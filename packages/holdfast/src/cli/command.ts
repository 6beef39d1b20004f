/** What every command of the command line has. */
import type { Given, Syntax } from './args.ts'
import { optionsHelp, STORE } from './option.ts'

export interface Command {
  readonly syntax: Syntax
  /** Shown by --help: usage, options, examples, exit codes. */
  readonly help: string
  /** Does it, and answers the exit code. */
  execute(given: Given): Promise<number>
}

/** A command in the table of a command line: one entry makes it known to --help, to "did you mean" and to shells. */
export interface CommandEntry {
  /** What follows its name, for --help: `NAME -- program …`. */
  readonly usage: string
  /** One phrase, for --help and for shells. */
  readonly says: string
  /** Loads it, and nothing but that. */
  readonly load: () => Promise<Command>
}

/** By name, in the order of --help. */
export type Commands = Readonly<Record<string, CommandEntry>>

/** The help of --store, for a command whose other options are explained by hand. */
export const STORE_HELP: string = optionsHelp({ store: STORE })
