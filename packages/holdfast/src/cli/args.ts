/** Reads the arguments of one command, and checks them against what that command takes. */
import { UsageError } from '../contract/errors.ts'
import { nearest } from './nearest.ts'
import { type Options, takesValue } from './option.ts'

/** What a command takes. */
export interface Syntax {
  readonly command: string
  readonly options: Options
  /** The names of the arguments. Those in square brackets may be left out; `a|b` is one of these words. */
  readonly operands: readonly string[]
  /** Whether a program and its own arguments follow `--`; 'maybe': they may be left out. */
  readonly runs: boolean | 'maybe'
}

/** What was given. */
export interface Given {
  readonly help: boolean
  readonly flags: ReadonlySet<string>
  readonly values: ReadonlyMap<string, string>
  readonly operands: readonly string[]
  /** What stands behind `--`, if the command takes a program; else empty. */
  readonly program: readonly string[]
}

export function parseArgs(syntax: Syntax, args: readonly string[]): Given {
  const flags = new Set<string>()
  const values = new Map<string, string>()
  const operands: string[] = []
  let program: readonly string[] | null = null
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string
    if (arg === '--') {
      const rest = args.slice(i + 1)
      if (syntax.runs !== false) program = rest
      else operands.push(...rest)
      break
    }
    if (arg === '-h' || arg === '--help') return { help: true, flags, values, operands, program: [] }
    if (!arg.startsWith('-') || arg === '-') {
      operands.push(arg)
      continue
    }
    const { name, inline } = splitOption(syntax, arg)
    if (flags.has(name) || values.has(name)) throw usage(syntax, `--${name} was given twice`)
    if (!takesValue(syntax.options[name] ?? 'flag')) {
      if (inline !== null) throw usage(syntax, `--${name} takes no value`)
      flags.add(name)
      continue
    }
    const next = args[i + 1]
    if (inline === null && (next === undefined || next.startsWith('--'))) {
      throw usage(syntax, `--${name} needs a value`)
    }
    values.set(name, inline ?? (next as string))
    if (inline === null) i++
  }
  checkOperands(syntax, operands, program)
  return { help: false, flags, values, operands, program: program ?? [] }
}

/** Refuses two options that contradict each other. */
export function refuseBoth(syntax: Syntax, given: Given, a: string, b: string): void {
  const has = (name: string): boolean => given.flags.has(name) || given.values.has(name)
  if (has(a) && has(b)) throw usage(syntax, `--${a} and --${b} can't be given together`)
}

export function usage(syntax: Pick<Syntax, 'command'>, message: string): UsageError {
  return new UsageError(`${message}${message.endsWith('?') ? ' See' : '; see'} holdfast ${syntax.command} --help`)
}

function splitOption(syntax: Syntax, arg: string): { readonly name: string; readonly inline: string | null } {
  const equals = arg.indexOf('=')
  const option = equals < 0 ? arg : arg.slice(0, equals)
  const name = option.slice(2)
  if (!option.startsWith('--') || !Object.hasOwn(syntax.options, name)) {
    const names = [...Object.keys(syntax.options), 'help'].map((known) => `--${known}`)
    const meant = nearest(option, names)
    // Show only the option: behind its = there may be a URL with a password.
    const hint = meant === null ? `; there are ${names.join(', ')}` : `; did you mean ${meant}?`
    throw usage(syntax, `${syntax.command} has no option ${option.slice(0, 40)}${hint}`)
  }
  return { name, inline: equals < 0 ? null : arg.slice(equals + 1) }
}

function checkOperands(syntax: Syntax, operands: readonly string[], program: readonly string[] | null): void {
  const missing = syntax.operands[operands.length]
  if (missing !== undefined && !missing.startsWith('[')) throw usage(syntax, `${syntax.command} needs a ${missing}`)
  const isMissing = syntax.runs === 'maybe' ? program?.length === 0 : syntax.runs && (program ?? []).length === 0
  if (isMissing) {
    throw usage(syntax, `${syntax.command} needs a program to run, after --`)
  }
  if (operands.length > syntax.operands.length) {
    const extra = operands[syntax.operands.length] ?? ''
    // Do not show the operand: it may contain a password.
    if (operands.some((operand) => /^[a-z][a-z+]*:\/\//.test(operand)) && Object.hasOwn(syntax.options, 'store')) {
      throw usage(syntax, `${syntax.command} takes its store as --store URL`)
    }
    throw usage(syntax, `${syntax.command} does not know what to do with ${JSON.stringify(extra.slice(0, 80))}`)
  }
}
