#!/usr/bin/env node
/** The command line `holdfast`. */
import { COMMANDS } from './commands.ts'
import { dispatch } from './dispatch.ts'
import { version } from './version.ts'

const NOTES = `holdfast COMMAND --help explains a command, with examples; -V tells the version.
Environment: HOLDFAST_STORE (the store's URL), NO_COLOR, HOLDFAST_DEBUG`

/** On Node 22 the first use of its own SQLite warns. That is our choice, and not for people who run a command. */
const { emitWarning } = process
process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
  const isOurs = rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')
  if (!isOurs) Reflect.apply(emitWarning, process, [warning, ...rest])
}

// Exits by itself: what a store has left open must not keep a finished command alive.
const line = {
  name: 'holdfast',
  says: 'locks between processes and machines',
  notes: NOTES,
  version,
  commands: COMMANDS,
}
process.exit(await dispatch(line, process.argv.slice(2)))
