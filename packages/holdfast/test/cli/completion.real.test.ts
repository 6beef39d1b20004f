/** Completions, asked for in real shells; what --help lists and what they offer is the same table. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { syntax } from '../../src/cli/run.ts'
import { Terminal } from './terminal.ts'
import { Window } from './window.ts'

const terminal = new Terminal()
const window = new Window()

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out, err } = await terminal.holdfast('completion', shell)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    writeFileSync(terminal.path(shell), out)
  }
})

const names = [...Object.keys(COMMANDS), 'help']
const options = [...Object.keys(syntax.options), 'help'].map((name) => `--${name}`)

/** What bash would offer for the last of these words. */
function bash(...words: readonly string[]): string[] {
  const script =
    'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; printf "%s\\n" "${COMPREPLY[@]}"'
  const out = execFileSync('bash', ['--norc', '-c', script, 'bash', terminal.path('bash'), ...words], {
    cwd: terminal.folder,
    encoding: 'utf8',
  })
  return out.split('\n').filter((word) => word !== '')
}

function fish(line: string): string[] {
  const out = execFileSync(
    'fish',
    ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', terminal.path('fish'), line],
    {
      cwd: terminal.folder,
      encoding: 'utf8',
      env: { ...process.env, HOME: terminal.folder },
    },
  )
  return out
    .split('\n')
    .map((row) => row.split('\t')[0] as string)
    .filter((word) => word !== '')
}

describe('bash', () => {
  it('completes commands, options, words of an operand, and programs', () => {
    expect(bash('holdfast', '')).toEqual([...names, '--help', '--version'])
    expect(bash('holdfast', 'el')).toEqual(['elect'])
    expect(bash('holdfast', 'run', '--')).toEqual(options)
    expect(bash('holdfast', 'run', '--max')).toEqual(['--max-hold'])
    expect(bash('holdfast', 'run', '--ttl', '')).toEqual([])
    expect(bash('holdfast', 'redlock', 'r')).toEqual(['resize'])
    expect(bash('holdfast', 'help', 'dead')).toEqual(['deadlocks'])
    expect(bash('holdfast', 'run', 'x', '--', 'mkdi')).toContain('mkdir')
    expect(bash('holdfast', 'run', 'x', '--', 'cat', 'fi')).toEqual(['fish'])
  })

  it('does so in a terminal, on Tab', async () => {
    window.open({ FOLDER: terminal.folder })
    window.line('source "$FOLDER/bash"; clear; echo ready')
    // What is typed before the shell reads its keys itself is echoed by the terminal, and Tab is a blank.
    await window.shows(/^ready\n\$/m)
    window.type('holdfast dead')
    window.press('Tab')
    await window.shows(/^\$ holdfast deadlocks/m)
    window.type('--js')
    window.press('Tab')
    await window.shows(/^\$ holdfast deadlocks --json/m)
  })
})

describe('zsh', () => {
  it('completes commands, options, words of an operand, and programs, on Tab', async () => {
    window.open({ FOLDER: terminal.folder, HOME: terminal.folder }, 'zsh -f -i')
    window.line('PS1="$ "; autoload -Uz compinit; compinit -u -D; source "$FOLDER/zsh"')
    window.line('cd "$FOLDER"; clear; echo ready')
    await window.shows(/^ready\n\$/m)
    const completes = async (typed: string, seen: RegExp): Promise<void> => {
      window.press('C-u')
      window.type(typed)
      window.press('Tab')
      await window.shows(seen)
    }
    await completes('holdfast dead', /^\$ holdfast deadlocks/m)
    await completes('holdfast run --max', /^\$ holdfast run --max-hold/m)
    await completes('holdfast redlock r', /^\$ holdfast redlock resize/m)
    await completes('holdfast run x -- mkdi', /^\$ holdfast run x -- mkdir/m)
    await completes('holdfast e', /^\$ holdfast elect/m)
    window.press('C-u')
    window.type('holdfast ')
    window.press('Tab', 'Tab')
    await window.shows(/elect +-- runs a program while leading/)
    window.press('C-u')
    window.type('holdfast run --')
    window.press('Tab', 'Tab')
    await window.shows(/--max-hold +-- stop the program after this long/)
    for (const option of options) expect(window.text).toContain(option)
  })
})

describe('fish', () => {
  it('completes commands, options, words of an operand, and programs', () => {
    expect(fish('holdfast ').toSorted()).toEqual(names.toSorted())
    expect(fish('holdfast el')).toEqual(['elect'])
    expect(fish('holdfast run --').toSorted()).toEqual(options.toSorted())
    expect(fish('holdfast run --ttl ')).toEqual([])
    expect(fish('holdfast redlock ')).toEqual(['init', 'resize'])
    expect(fish('holdfast help dead')).toEqual(['deadlocks'])
    expect(fish('holdfast run x -- mkdi')).toContain('mkdir')
    expect(fish('holdfast show x --tt')).toEqual([])
  })
})

it('another shell is refused by name', async () => {
  const exit = await terminal.holdfast('completion', 'tcsh')
  expect(exit).toMatchObject({ code: 64, out: '' })
  expect(exit.err).toContain('knows bash, zsh, fish, given "tcsh"')
})
