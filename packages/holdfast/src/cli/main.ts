#!/usr/bin/env node
/** The command line: picks the command, and loads nothing but that. */
import { UsageError } from '../core/errors.ts'
import { parseArgs } from './args.ts'
import type { Command } from './command.ts'
import { EXIT, errorExit, errorText } from './exit.ts'
import { nearest } from './nearest.ts'
import { complain, debug, print } from './output.ts'

const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  run: () => import('./run.ts'),
  elect: () => import('./elect.ts'),
  once: () => import('./once.ts'),
  ls: () => import('./ls.ts'),
  show: () => import('./show.ts'),
  deadlocks: () => import('./deadlocks.ts'),
  break: () => import('./break.ts'),
  limit: () => import('./limit.ts'),
  id: () => import('./id.ts'),
  migrate: () => import('./migrate.ts'),
  torture: () => import('./torture.ts'),
  lab: () => import('./lab.ts'),
  redlock: () => import('./redlock.ts'),
}

const HELP = `holdfast: locks between processes

Usage: holdfast COMMAND …

  run NAME -- program …    runs a program while holding a lock
  elect NAME -- program …  runs a program while leading, again after each loss
  once NAME --every 1h -- program …  runs a program once per period, on whichever machine
  ls [PREFIX]              lists the lines that somebody holds or waits for
  show NAME                shows who holds a line, and who waits for it
  deadlocks                finds those who wait for each other in a circle
  break NAME               takes a line from its holders
  limit NAME --rate 10/1s  takes from a rate limit, and maybe runs a program
  id                       makes an id that no other process makes
  migrate                  makes the tables of a store on PostgreSQL, MySQL or MariaDB
  torture --spawn KIND     puts locks through harsh conditions, and judges what came of it
  lab [NAME]               shows on real servers how well-known locks break, and what Holdfast does instead
  redlock init             tells the servers of a Redlock deployment that this is their first start
  help [COMMAND]           explains a command; so does COMMAND --help
  --version                says which version this is

Examples:
  holdfast run nightly --no-wait -- ./backup.sh    does nothing if the last backup is still running
  holdfast run deploy --wait 10m -- make deploy    one deployment at a time, the others queue
  holdfast elect scheduler -- ./scheduler          on every machine: one of them runs it, another takes over
  holdfast ls                                      who holds what

Environment: HOLDFAST_STORE (the store's URL), NO_COLOR, HOLDFAST_DEBUG (show where an error came from)`

async function main(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === '--version') {
    const { version } = await import('./version.ts')
    print(version())
    return EXIT.ok
  }
  if (first === undefined || first === '--help' || first === '-h' || (first === 'help' && rest.length === 0)) {
    if (first === undefined) throw new UsageError('there is no command given; see holdfast --help')
    print(HELP)
    return EXIT.ok
  }
  const asksHelp = first === 'help'
  const command = await load(asksHelp ? (rest[0] as string) : first)
  const given = asksHelp ? null : parseArgs(command.syntax, rest)
  if (given === null || given.help) {
    print(command.help)
    return EXIT.ok
  }
  return command.execute(given)
}

function load(name: string): Promise<Command> {
  const found = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (found !== undefined) return found()
  const meant = nearest(name, [...Object.keys(COMMANDS), 'help', '--help', '--version'])
  const hint = meant === null ? '; see' : `; did you mean ${meant}? See`
  throw new UsageError(`there is no command ${JSON.stringify(name.slice(0, 40))}${hint} holdfast --help`)
}

function fail(error: unknown): number {
  complain(errorText(error))
  debug(error)
  return errorExit(error)
}

// Exits by itself: what a store has left open must not keep a finished command alive.
process.exit(await main(process.argv.slice(2)).catch(fail))
