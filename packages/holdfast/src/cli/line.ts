/** The command line `holdfast` as a whole. */
import { COMMANDS } from './commands.ts'
import type { CommandLine } from './dispatch.ts'
import { version } from './version.ts'

const NOTES = `holdfast COMMAND --help explains a command, with examples; -V tells the version.
Environment: HOLDFAST_STORE (the store's URL), NO_COLOR, HOLDFAST_DEBUG`

export const line: CommandLine = {
  name: 'holdfast',
  says: 'locks between processes and machines',
  notes: NOTES,
  version,
  commands: COMMANDS,
}
