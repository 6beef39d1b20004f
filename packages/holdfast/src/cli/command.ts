/** What every command of the command line has. */
import type { Given, Syntax } from './args.ts'
import { optionsHelp, STORE } from './option.ts'

export interface Command {
  readonly syntax: Syntax
  /** What --help shows: usage, options, examples, exit codes. */
  readonly help: string
  /** Runs the command, and returns the exit code. */
  execute(given: Given): Promise<number>
}

/** A command in the table of a command line: one entry makes it known to --help, to "did you mean" and to shells. */
export interface CommandEntry {
  /** What follows the name of the command, for --help: `NAME -- program …`. */
  readonly usage: string
  /** One phrase, for --help and for shells. */
  readonly says: string
  /** Loads this command and nothing else. */
  readonly load: () => Promise<Command>
}

/** By name, in the order of --help. */
export type Commands = Readonly<Record<string, CommandEntry>>

/** The help of --store, for a command whose help text explains its other options. */
export const STORE_HELP: string = optionsHelp({ store: STORE })
