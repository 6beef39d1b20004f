import { describe, expect, it } from 'vitest'
import { parseArgs, refuseBoth, type Syntax } from '../../src/cli/args.ts'
import { syntax as breakSyntax } from '../../src/cli/break.ts'
import { syntax as runSyntax } from '../../src/cli/run.ts'
import { UsageError } from '../../src/contract/errors.ts'

const ls: Syntax = { command: 'ls', options: { store: 'value', json: 'flag' }, operands: ['[PREFIX]'], runs: false }

describe('parseArgs', () => {
  it('takes options before, between and after the operands, with a space or an =', () => {
    const given = parseArgs(runSyntax, [
      '--ttl',
      '5s',
      'stock',
      '--store=sqlite:a=b',
      '--no-wait',
      '--',
      'cmd',
      '--ttl',
    ])
    expect(given.operands).toEqual(['stock'])
    expect(Object.fromEntries(given.values)).toEqual({ ttl: '5s', store: 'sqlite:a=b' })
    expect([...given.flags]).toEqual(['no-wait'])
    expect(given.program).toEqual(['cmd', '--ttl'])
  })

  it('lets -- protect an operand that looks like an option', () => {
    expect(parseArgs(ls, ['--json', '--', '--odd']).operands).toEqual(['--odd'])
  })

  it('takes an empty value after =, and a lone dash as an operand', () => {
    expect(parseArgs(ls, ['--store=']).values.get('store')).toBe('')
    expect(parseArgs(ls, ['-']).operands).toEqual(['-'])
  })

  it('asks for help before it complains of anything behind', () => {
    expect(parseArgs(runSyntax, ['--help']).help).toBe(true)
    expect(parseArgs(breakSyntax, ['-h', '--bogus']).help).toBe(true)
  })

  it('does not take the help of the program for its own', () => {
    expect(parseArgs(runSyntax, ['x', '--', 'cmd', '--help']).help).toBe(false)
  })

  it.each([
    [['x', '--tll', '5s', '--', 'c'], /has no option --tll; did you mean --ttl\?/],
    [['x', '--no-wiat', '--', 'c'], /did you mean --no-wait\?/],
    [['x', '--premits=1/3', '--', 'c'], /did you mean --permits\?/],
    [['x', '-t', '5s', '--', 'c'], /has no option -t/],
    [['x', '--zzzzzzzzzzzz', '--', 'c'], /there are --store, --ttl/],
    [['x', '--ttl', '--', 'c'], /--ttl needs a value/],
    [['x', '--ttl'], /--ttl needs a value/],
    [['x', '--ttl', '5s', '--ttl=6s', '--', 'c'], /--ttl was given twice/],
    [['x', '--shared=yes', '--', 'c'], /--shared takes no value/],
    [['--', 'c'], /run needs a NAME/],
    [['x'], /needs a program to run, after --/],
    [['x', '--'], /needs a program to run, after --/],
    [['x', 'cmd', '--', 'c'], /does not know what to do with "cmd"/],
    [['x', 'cmd'], /needs a program to run, after --/],
    [['redis://u:secret@h', 'x', '--', 'c'], /^run takes its store as --store URL; see[^:]*$/],
  ])('refuses %j', (args, message) => {
    const parse = (): unknown => parseArgs(runSyntax, args)
    expect(parse).toThrow(UsageError)
    expect(parse).toThrow(message)
    expect(parse).toThrow(/see holdfast run --help/i)
  })

  it('never shows what stands behind the = of a wrong option', () => {
    expect(() => parseArgs(ls, ['--stroe=redis://u:secret@h'])).toThrow(/^((?!secret).)*$/)
  })

  it('does not take a member of Object for an option', () => {
    expect(() => parseArgs(ls, ['--constructor', 'x'])).toThrow(/has no option --constructor/)
  })
})

describe('refuseBoth', () => {
  it('refuses a contradiction and nothing else', () => {
    const both = parseArgs(runSyntax, ['x', '--wait', '1s', '--no-wait', '--', 'c'])
    expect(() => refuseBoth(runSyntax, both, 'wait', 'no-wait')).toThrow(/--wait and --no-wait can't be given together/)
    expect(() => refuseBoth(runSyntax, both, 'wait', 'shared')).not.toThrow()
  })
})

describe('a program that may be left out', () => {
  const maybe: Syntax = { command: 'limit', options: {}, operands: ['NAME'], runs: 'maybe' }

  it('is none, or what stands behind --, which must not be empty', () => {
    expect(parseArgs(maybe, ['a']).program).toEqual([])
    expect(parseArgs(maybe, ['a', '--', 'cmd', '-x']).program).toEqual(['cmd', '-x'])
    expect(() => parseArgs(maybe, ['a', '--'])).toThrow(UsageError)
  })
})
