#!/usr/bin/env node
/** The command line `holdfast`: its commands, and what --help says. */
import { type CommandLine, dispatch } from './dispatch.ts'
import { commandOf } from './other-packages.ts'
import { version } from './version.ts'

const COMMANDS: CommandLine['commands'] = {
  run: () => import('./run.ts'),
  elect: () => import('./elect.ts'),
  once: () => import('./once.ts'),
  ls: () => import('./ls.ts'),
  show: () => import('./show.ts'),
  why: () => import('./why.ts'),
  deadlocks: () => import('./deadlocks.ts'),
  break: () => import('./break.ts'),
  limit: () => import('./limit.ts'),
  id: () => import('./id.ts'),
  doctor: () => import('./doctor.ts'),
  migrate: () => import('./migrate.ts'),
  ui: () => commandOf('holdfast-console', 'ui'),
  torture: () => commandOf('holdfast-lab', 'torture'),
  lab: () => commandOf('holdfast-lab', 'lab'),
  redlock: () => import('./redlock.ts'),
}

const HELP = `holdfast: locks between processes

Usage: holdfast COMMAND …

  run NAME -- program …    runs a program while holding a lock
  elect NAME -- program …  runs a program while leading, again after each loss
  once NAME --every 1h -- program …  runs a program once per period, on whichever machine
  ls [PREFIX]              lists locks with their holders and waiters
  show NAME                shows the holders and the waiters of a lock
  why NAME                 says why a lock is not free, and what happened to it lately
  deadlocks                finds processes that wait for each other in a circle
  break NAME               force-releases a lock
  ui                       shows locks, holders and waiters on a live page
  limit NAME --rate 10/1s  takes from a rate limit, and maybe runs a program
  id                       makes an id that no other process makes
  doctor                   says what is dangerous for locks about a store as it is configured
  migrate                  makes the tables of a store on PostgreSQL, MySQL or MariaDB
  torture --spawn KIND     puts locks through harsh conditions, and judges what came of it
  lab [NAME]               shows on real servers how well-known locks break, and what Holdfast does instead
  redlock init|resize      starts a Redlock deployment; adds, removes and replaces its servers
  help [COMMAND]           explains a command; so does COMMAND --help
  --version                says which version this is

Examples:
  holdfast run nightly --no-wait -- ./backup.sh    does nothing if the last backup is still running
  holdfast run deploy --wait 10m -- make deploy    one deployment at a time, the others queue
  holdfast elect scheduler -- ./scheduler          on every machine: one of them runs it, another takes over
  holdfast ls                                      who holds what

Environment: HOLDFAST_STORE (the store's URL), NO_COLOR, HOLDFAST_DEBUG (show where an error came from)`

/** On Node 22 the first use of its own SQLite warns. That is our choice, and not for people who run a command. */
const { emitWarning } = process
process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
  const isOurs = rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')
  if (!isOurs) Reflect.apply(emitWarning, process, [warning, ...rest])
}

// Exits by itself: what a store has left open must not keep a finished command alive.
void dispatch({ name: 'holdfast', help: HELP, version, commands: COMMANDS }, process.argv.slice(2)).then((code) =>
  process.exit(code),
)
