/** `holdfast doctor` and `holdfast why`, as people and scripts use them. */
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { holdfast } from '../../src/index.ts'
import { acts, Terminal, until } from './terminal.ts'

const terminal = new Terminal()

describe('doctor', () => {
  it('tells the worst first, and by its exit code', async () => {
    const url = `sqlite:${join(terminal.folder, 'doctor.db')}`
    const fine = await terminal.holdfast('doctor', '--store', url)
    expect(fine).toMatchObject({ code: 0, err: '' })
    expect(fine.out).toContain('OK       lock: a lock was taken, listed and given back')
    chmodSync(join(terminal.folder, 'doctor.db'), 0o666)
    const open = await terminal.holdfast('doctor', '--store', url)
    expect(open.code).toBe(2)
    expect(open.out).toMatch(/^sqlite:.*\n\nDANGER {3}sqlite\.rights: .*\n {9}why: .*\n {9}do: {2}chmod o-w\n/)
    const json = await terminal.holdfast('doctor', '--store', url, '--json')
    const [first] = json.out.split('\n').map((line) => (line === '' ? null : JSON.parse(line)))
    expect(Object.keys(first)).toEqual(['check', 'severity', 'found', 'why', 'todo'])
    expect(first).toMatchObject({ check: 'sqlite.rights', severity: 'danger' })
    expect(await terminal.holdfast('doctor', '--store', 'redis://127.0.0.1:1')).toMatchObject({ code: 69, out: '' })
  })
})

describe('why', () => {
  it('names who holds, who waits for whom, and what processes reported', async () => {
    terminal.script(['stock:42', '--ttl', '60s'], acts('why.log', 'a', 0))
    await until('the holder acts', () => terminal.read('why.log') !== '')
    await using hf = await holdfast(terminal.store, { report: true, label: 'web' })
    const giveUp = new AbortController()
    const waiting = hf
      .mutex('stock:42')
      .acquire({ signal: giveUp.signal })
      .catch((error: unknown) => error)
    const why = () => terminal.holdfast('why', 'stock:42')
    await until('the report is there', async () => (await why()).out.includes('waits for sh'))
    const { out, code } = await why()
    expect(code).toBe(0)
    expect(out).toMatch(
      /^stock:42: held by sh \(.*\) for .*, .* of its lease left\n {2}web \(.*\) has waited for .* for sh/,
    )
    expect(out).toMatch(/lately, as processes reported:\n {2}\S+ web \(.*\) waiting \(in the store\)/)
    const json = JSON.parse((await terminal.holdfast('why', 'stock:42', '--json')).out)
    expect(json).toMatchObject({
      line: { name: 'stock:42' },
      reports: [{ label: 'web', waits: [{ lock: 'stock:42' }] }],
    })
    const file = join(terminal.folder, 'trace.json')
    await terminal.holdfast('why', 'stock:42', '--trace', file)
    const { traceEvents } = JSON.parse(readFileSync(file, 'utf8'))
    expect(traceEvents.map(({ name }: { name: string }) => name)).toContain('waiting')
    giveUp.abort()
    await waiting
    expect((await terminal.holdfast('why', 'nobody')).out).toMatch(/^nobody: nobody holds it, nobody waits\n/)
  })
})
