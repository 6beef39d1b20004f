/** `holdfast completion`: a script that lets a shell complete commands and options, made from the tables of --help. */
import { UsageError } from '../contract/errors.ts'
import type { Given, Syntax } from './args.ts'
import { COMMANDS } from './commands.ts'
import { EXIT } from './exit.ts'
import { print } from './output.ts'
import { type Completable, SHELLS, type Shell } from './shells.ts'

export const syntax: Syntax = {
  command: 'completion',
  options: {},
  operands: [Object.keys(SHELLS).join('|')],
  runs: false,
}

export const help: string = `Prints a script that lets a shell complete the commands and options of holdfast.

Usage: holdfast completion bash|zsh|fish

Examples:
  holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
  holdfast completion zsh > ~/.zfunc/_holdfast               a folder of your fpath, before compinit
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish
  source <(holdfast completion bash)                         for this shell only`

export async function execute(given: Given): Promise<number> {
  const asked = given.operands[0] ?? ''
  const shell = Object.hasOwn(SHELLS, asked) ? SHELLS[asked as Shell] : undefined
  if (shell === undefined) {
    throw new UsageError(
      `holdfast completion knows ${Object.keys(SHELLS).join(', ')}, given ${JSON.stringify(asked.slice(0, 40))}`,
    )
  }
  print(shell(await completables()))
  return EXIT.ok
}

/** Every command with its options; a command of a package that is not installed has none. */
export async function completables(): Promise<Completable[]> {
  return Promise.all(
    Object.entries(COMMANDS).map(async ([name, { says, load }]) => {
      const nothing: Syntax = { command: name, options: {}, operands: [], runs: false }
      const syntax = await load().then(
        (command) => command.syntax,
        (error: unknown) => {
          if (error instanceof UsageError) return nothing
          throw error
        },
      )
      return { name, says, syntax }
    }),
  )
}
