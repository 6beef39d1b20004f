/** The languages of completions: bash, zsh and fish. */
import type { Syntax } from './args.ts'
import { phrase, takesValue } from './option.ts'

/** A command as a shell must know it. */
export interface Completable {
  readonly name: string
  readonly says: string
  readonly syntax: Syntax
}

export type Shell = 'bash' | 'zsh' | 'fish'

export const SHELLS: Readonly<Record<Shell, (commands: readonly Completable[]) => string>> = { bash, zsh, fish }

const GLOBAL = ['help', '--help', '--version']

const namesOf = (commands: readonly Completable[]): string => commands.map(({ name }) => name).join(' ')
const optionsOf = ({ options }: Syntax): string[] => [...Object.keys(options), 'help'].map((name) => `--${name}`)

/** The options that need a value; `files`: those whose value is a file or folder. */
function valuesOf({ options }: Syntax): { readonly values: string[]; readonly files: string[] } {
  const values = Object.entries(options).filter(([, option]) => takesValue(option))
  const files = values.filter(([, option]) => typeof option !== 'string' && /^(FILE|FOLDER)$/.test(option.takes))
  const dashed = (some: typeof values): string[] => some.map(([name]) => `--${name}`)
  return { values: dashed(values), files: dashed(files) }
}

/** The words that an operand may be: those of `init|resize`. */
const wordsOf = ({ operands }: Syntax): string[] =>
  operands
    .filter((text) => text.includes('|'))
    .join('|')
    .split('|')

function bash(commands: readonly Completable[]): string {
  const cases = commands.map(({ name, syntax }) => {
    const { values, files } = valuesOf(syntax)
    const words = [...optionsOf(syntax), ...wordsOf(syntax)].filter((word) => word !== '').join(' ')
    return `    ${name}) words='${words}' values=' ${values.join(' ')} ' files=' ${files.join(' ')} ' ;;`
  })
  return `# bash completion for holdfast, written by: holdfast completion bash
_holdfast() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words values files i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${namesOf(commands)} ${GLOBAL.join(' ')}' -- "$cur"))
    return
  fi
  for ((i = 2; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == -- ]] || continue
    # Behind -- stands a program with its own arguments.
    local IFS=$'\\n'
    if ((i + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$cur")); fi
    if [[ -z \${COMPREPLY[*]} ]]; then
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -- "$cur"))
    fi
    return
  done
  case \${COMP_WORDS[1]} in
    help) words='${namesOf(commands)}' values='' files='' ;;
${cases.join('\n')}
    *) return ;;
  esac
  if [[ $files == *" $prev "* ]]; then
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  elif [[ $values != *" $prev "* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -F _holdfast holdfast`
}

function zsh(commands: readonly Completable[]): string {
  const described = commands.map(({ name, says }) => `    ${quoted(`${name}:${says}`)}`)
  const cases = commands.map(({ name, syntax }) => {
    const { values, files } = valuesOf(syntax)
    const options = Object.entries(syntax.options).map(([option, table]) => {
      const said = phrase(table).replace(/[[\]:\\]/g, '\\$&')
      const what = files.includes(`--${option}`) ? ':file:_files' : ':value: '
      return values.includes(`--${option}`) ? `--${option}[${said}]${what}` : `--${option}[${said}]`
    })
    const words = wordsOf(syntax).join(' ')
    // A word with a dash is an option, and never an operand, which no shell can complete.
    const operands = words === '' ? syntax.operands.map(() => `::operand:_guard '^-*' operand`) : [`:what:(${words})`]
    const all = [...options, '--help[explains the command]', ...operands].map(quoted)
    return `    ${name}) _arguments ${all.join(' ')} ;;`
  })
  return `#compdef holdfast
# zsh completion for holdfast, written by: holdfast completion zsh
_holdfast() {
  local -a known
  known=(
${described.join('\n')}
    'help:explains a command'
  )
  if ((CURRENT == 2)); then
    _describe command known
    [[ $PREFIX == -* ]] && compadd -- --help --version
    return
  fi
  # Behind -- stands a program with its own arguments.
  local -i dashes=\${words[(ie)--]}
  if ((dashes < CURRENT)); then
    words=("\${(@)words[dashes+1,-1]}")
    ((CURRENT -= dashes))
    if ((CURRENT == 1)); then _command_names -e; else _normal; fi
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command known ;;
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi`
}

function fish(commands: readonly Completable[]): string {
  const lines = commands.flatMap(({ name, says, syntax }) => {
    const { values, files } = valuesOf(syntax)
    const inside = `complete -c holdfast -n '__holdfast_in ${name}'`
    const options = Object.entries(syntax.options).map(([option, table]) => {
      const value = files.includes(`--${option}`) ? ' -r -F' : values.includes(`--${option}`) ? ' -x' : ''
      return `${inside} -l ${option}${value} -d ${escaped(phrase(table))}`
    })
    const words = wordsOf(syntax).join(' ')
    return [
      `complete -c holdfast -n __holdfast_first -a ${name} -d ${escaped(says)}`,
      ...options,
      `${inside} -l help -d 'explains the command'`,
      ...(words === '' ? [] : [`${inside} -a '${words}'`]),
    ]
  })
  return `# fish completion for holdfast, written by: holdfast completion fish
function __holdfast_first
  test (count (commandline -opc)) -eq 1
end
function __holdfast_in
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test $words[2] = $argv[1]; and not contains -- -- $words
end
# Behind -- stands a program with its own arguments.
function __holdfast_behind
  contains -- -- (commandline -opc)
end
function __holdfast_program
  set -l words (commandline -opc)
  set -l at (contains -i -- -- $words)
  set -l program (string escape -- $words[(math $at + 1)..-1]) (commandline -ct)
  complete -C "$program"
end
complete -c holdfast -f
complete -c holdfast -n __holdfast_first -l help -d 'lists the commands'
complete -c holdfast -n __holdfast_first -l version -s V -d 'tells the version'
complete -c holdfast -n __holdfast_first -a help -d 'explains a command'
complete -c holdfast -n '__holdfast_in help' -a '${namesOf(commands)}'
complete -c holdfast -n __holdfast_behind -a '(__holdfast_program)'
${lines.join('\n')}`
}

/** As a word of zsh, between single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** As a word of fish, between single quotes. */
function escaped(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
