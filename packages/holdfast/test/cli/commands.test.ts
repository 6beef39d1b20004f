/** The table of commands: --help, options and completions are made of it. */
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { completables } from '../../src/cli/completion.ts'
import { overview } from '../../src/cli/dispatch.ts'
import { width } from '../../src/cli/table.ts'
import { line } from '../../src/cli/line.ts'

describe('holdfast --help', () => {
  it('fits on a screen of 24 lines and 80 columns, with the prompt below', () => {
    const rows = overview(line).split('\n')
    expect(rows.length).toBeLessThanOrEqual(23)
    expect(rows.filter((row) => width(row) > 80)).toEqual([])
  })

  it('has a line for each command', () => {
    const rows = overview(line).split('\n')
    for (const name of Object.keys(COMMANDS)) {
      expect(
        rows.filter((row) => row.startsWith(`  ${name} `)),
        name,
      ).toHaveLength(1)
    }
  })
})

describe('the help of a command', () => {
  it('explains each of its options, and no other', async () => {
    for (const { name, syntax } of await completables()) {
      // Not installed here, or a matter of its own package.
      if (name === 'torture' || name === 'lab' || name === 'ui') continue
      const { help } = await (COMMANDS[name] as (typeof COMMANDS)[string]).load()
      const explained = [...help.matchAll(/^ {2}--([a-z-]+)/gm)].map((match) => match[1] as string)
      expect(explained.toSorted(), name).toEqual(Object.keys(syntax.options).toSorted())
      expect(syntax.command).toBe(name)
      expect(
        help.split('\n').filter((row) => width(row) > 120),
        name,
      ).toEqual([])
    }
  })
})
