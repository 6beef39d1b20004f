/** Picks the command of a command line, and loads nothing else. */
import { UsageError } from '../contract/errors.ts'
import { parseArgs } from './args.ts'
import type { Command, Commands } from './command.ts'
import { EXIT, errorExit, errorText } from './exit.ts'
import { nearest } from './nearest.ts'
import { complain, debug, print } from './output.ts'

export interface CommandLine {
  /** What people type, for messages. */
  readonly name: string
  /** What the command line is for, in one phrase. */
  readonly says: string
  /** Shown below the commands. */
  readonly notes: string
  readonly version: () => string
  readonly commands: Commands
}

/** Runs what was typed, and returns the exit code. Errors are printed, never thrown. */
export async function dispatch(line: CommandLine, args: readonly string[]): Promise<number> {
  try {
    return await execute(line, args)
  } catch (error) {
    complain(errorText(error))
    debug(error)
    return errorExit(error)
  }
}

async function execute(line: CommandLine, args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  if (first === undefined) throw new UsageError(`no command was given; see ${line.name} --help`)
  if (first === '--version' || first === '-V') {
    print(line.version())
    return EXIT.ok
  }
  const [asked] = rest
  if (first === '--help' || first === '-h' || (first === 'help' && asked === undefined)) {
    print(overview(line))
    return EXIT.ok
  }
  if (first === 'help') {
    print((await load(line, asked as string)).help)
    return EXIT.ok
  }
  const command = await load(line, first)
  const given = parseArgs(command.syntax, rest)
  if (!given.help) return command.execute(given)
  print(command.help)
  return EXIT.ok
}

function load({ name, commands }: CommandLine, asked: string): Promise<Command> {
  const found = Object.hasOwn(commands, asked) ? commands[asked] : undefined
  if (found !== undefined) return found.load()
  const meant = nearest(asked, [...Object.keys(commands), 'help', '--help', '--version'])
  const hint = meant === null ? '; see' : `; did you mean ${meant}? See`
  throw new UsageError(`there is no command ${JSON.stringify(asked.slice(0, 40))}${hint} ${name} --help`)
}

/** The text of `--help`: a line for each command, on one screen of 24 lines and 80 columns. */
export function overview({ name, says, notes, commands }: CommandLine): string {
  const lines = Object.entries(commands).map(([command, entry]) => {
    const head = `  ${command} ${entry.usage}`.trimEnd()
    return `${head.padEnd(USAGE_COLUMNS)} ${entry.says}`
  })
  return [`${name}: ${says}`, '', ...lines, '', notes].join('\n')
}

const USAGE_COLUMNS = 27
