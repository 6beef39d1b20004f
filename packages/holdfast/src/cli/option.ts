/** The options of a command: one table for the parser, for --help and for the completions of shells. */

/** One option. */
export interface Option {
  /**
   * The value that follows the option, as --help shows it: `30s`, `URL`. Shells complete FILE and FOLDER as such. '':
   * the option is a flag, without a value.
   */
  readonly takes: string
  /** What the option does. Completions show the text up to the first semicolon or colon. */
  readonly says: string
}

/** By name, without dashes. 'flag' and 'value' stand for an option that only the help text explains. */
export type Options = Readonly<Record<string, Option | 'flag' | 'value'>>

export function flag(says: string): Option {
  return { takes: '', says }
}

export function value(takes: string, says: string): Option {
  return { takes, says }
}

/** Whether a value must follow the option. */
export function takesValue(option: Option | 'flag' | 'value'): boolean {
  return typeof option === 'string' ? option === 'value' : option.takes !== ''
}

/** For a completion: one phrase. */
export function phrase(option: Option | 'flag' | 'value'): string {
  return typeof option === 'string' ? '' : (option.says.split(/[;:]/)[0] as string)
}

const INDENT = 18
const COLUMNS = 100

/** The part of --help that explains the options. */
export function optionsHelp(options: Options): string {
  return Object.entries(options)
    .flatMap(([name, option]) => (typeof option === 'string' ? [] : [explain(name, option)]))
    .join('\n')
}

function explain(name: string, { takes, says }: Option): string {
  const head = `  --${name}${takes === '' ? '' : ` ${takes}`}`
  const lines: string[] = []
  let line = head.length < INDENT - 1 ? head.padEnd(INDENT) : `${head}  `
  for (const word of says.split(' ')) {
    if (line.length + word.length > COLUMNS) {
      lines.push(line.trimEnd())
      line = ' '.repeat(INDENT)
    }
    line += `${word} `
  }
  return [...lines, line.trimEnd()].join('\n')
}

/** Which store: every command that works on locks has this option. */
export const STORE: Option = value(
  'URL',
  `where the locks are kept; else $HOLDFAST_STORE, else a SQLite file of this user: \
\${XDG_STATE_HOME:-~/.local/state}/holdfast/locks.db`,
)
