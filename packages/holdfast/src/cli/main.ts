#!/usr/bin/env node
/** The command line `holdfast`. */
import { keepCompiled } from './compiled.ts'
import { titleOf } from './title.ts'

const title = titleOf(process.argv.slice(2))
if (title !== null) process.title = title

/**
 * On Node 22 the first use of its own SQLite warns. Using it is our choice, so users of a command need not read that.
 */
const { emitWarning } = process
process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
  const isOurs = rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')
  if (!isOurs) Reflect.apply(emitWarning, process, [warning, ...rest])
}

// Only what is loaded from here on is kept.
keepCompiled()

// Exits by itself: connections that a store has left open must not keep a finished command alive.
void Promise.all([import('./dispatch.ts'), import('./line.ts')])
  .then(([{ dispatch }, { line }]) => dispatch(line, process.argv.slice(2)))
  .then((code) => process.exit(code))
