/** What a person sees of a wait for a lock, in a real terminal and without one. */
import { describe, expect, it } from 'vitest'
import { acts, Terminal, until } from './terminal.ts'
import { Window } from './window.ts'

const terminal = new Terminal()
const window = new Window()

async function hold(name: string, ...options: string[]): Promise<void> {
  terminal.script([name, ...options], acts(`${name}.log`, 'holder', 0))
  await until('the holder acts', () => terminal.read(`${name}.log`) !== '')
}

describe('a wait for a lock', () => {
  it('is told in place on a terminal, and leaves nothing behind', async () => {
    await hold('stock', '--label', 'web\u001b[2J')
    window.open({ HOLDFAST_STORE: terminal.store })
    window.line('holdfast run stock --wait 6s -- true; echo ended with $?')
    const row = /holdfast: waiting for stock, position 1 of 1: held for [\d.]+m?s by web\\u\{1b\}\[2J \(/
    await window.shows(row)
    const seen = window.rows.find((text) => row.test(text))
    await until('it is updated in place', () => {
      const rows = window.rows.filter((text) => text.includes('waiting'))
      return rows.length === 1 && rows[0] !== seen
    })
    await window.shows(/ended with 75/)
    expect(window.text).not.toContain('waiting')
    expect(window.text).toContain('holdfast: lock "stock" stayed held by others for 6000 ms')
  })

  it('is told once in a plain line without a terminal, and not at all with --quiet', async () => {
    await hold('plain')
    const first = terminal.start(['run', 'plain', '--', 'true'])
    await until('it is told', () => first.err !== '')
    const second = await terminal.holdfast('run', 'plain', '--wait', '4s', '--', 'true')
    const told = /^holdfast: waiting for plain, position (\d) of (\d): held for [\d.]+m?s by sh \(.*:\d+\)\n/
    expect(told.exec(first.err)?.slice(1)).toEqual(['1', '1'])
    expect(told.exec(second.err)?.slice(1)).toEqual(['2', '2'])
    expect(first.err.match(/waiting/g)).toHaveLength(1)
    expect(first.err + second.err).not.toContain('\u001b')
    const quiet = await terminal.holdfast('run', 'plain', '--wait', '2s', '--quiet', '--', 'true')
    expect(quiet).toMatchObject({ code: 75, err: '' })
  })
})

describe('run', () => {
  it('ends with --busy-exit when others have the lock, and only then', async () => {
    await hold('busy')
    expect(await terminal.holdfast('run', 'busy', '--no-wait', '--busy-exit', '0', '--', 'true')).toMatchObject({
      code: 0,
    })
    expect(await terminal.holdfast('elect', 'busy', '--no-wait', '--busy-exit', '3', '--', 'true')).toMatchObject({
      code: 3,
    })
    expect(await terminal.holdfast('run', 'free', '--busy-exit', '3', '--', 'sh', '-c', 'exit 5')).toMatchObject({
      code: 5,
    })
    expect(await terminal.holdfast('run', 'x', '--busy-exit', '256', '--', 'true')).toMatchObject({ code: 64 })
  })

  it('stops the program after --max-hold, and holds the lock until the program has stopped', async () => {
    const slow =
      "trap 'sleep 1; echo last >> over.log; exit 0' TERM; echo began >> over.log; while :; do sleep .05; done"
    const run = terminal.script(['over', '--max-hold', '2s', '--grace', '20s'], slow)
    await until('it has begun', () => terminal.read('over.log') !== '')
    const next = terminal.script(['over'], 'echo next >> over.log')
    const exit = await run.exit
    expect(exit).toMatchObject({ code: 124 })
    expect(exit.err).toContain('holdfast: "over" was held for 2.0s; sh ended with 0\n')
    expect(await next.exit).toMatchObject({ code: 0 })
    expect(terminal.read('over.log')).toBe('began\nlast\nnext\n')
    expect(await terminal.holdfast('run', 'x', '--max-hold', '0s', '--', 'true')).toMatchObject({ code: 64 })
  })

  it('makes way for the next candidate after --max-hold of elect', async () => {
    const script = (mark: string): string[] => ['--', 'sh', '-c', `echo ${mark} >> terms.log; exec sleep 60`]
    terminal.start(['elect', 'terms', '--max-hold', '2s', ...script('a')])
    await until('a leads', () => terminal.read('terms.log') === 'a\n')
    terminal.start(['elect', 'terms', '--max-hold', '2s', ...script('b')])
    await until('both have led, one after the other', () => terminal.read('terms.log').startsWith('a\nb\na\n'))
  })
})
