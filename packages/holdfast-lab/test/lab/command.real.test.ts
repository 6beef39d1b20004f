/** The command: the list, one exhibit with its page, and what is wrong on the command line. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { EXHIBITS } from '../../src/lab/catalogue.ts'
import { requireServers, skipped } from '../../src/testbed/require.ts'
import { Terminal, until } from '../../../holdfast/test/cli/terminal.ts'

describe('holdfast lab', () => {
  const terminal = new Terminal()

  test('lists the exhibits', async () => {
    const { code, out } = await terminal.holdfast('lab')
    expect(code).toBe(0)
    for (const { name } of EXHIBITS) expect(out).toContain(name)
    const json = await terminal.holdfast('lab', '--json')
    const names = json.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { name: string }).name)
    expect(names).toEqual(EXHIBITS.map(({ name }) => name))
    expect(new Set(names).size).toBe(names.length)
  })

  test.skipIf(skipped('redis'))('runs one, draws it, and writes a page and pictures', async () => {
    await requireServers(['redis'])
    const page = terminal.path('page.html')
    const folder = terminal.path('new/pictures')
    const args = ['lab', 'get-then-del', '--html', page, '--svg', folder]
    const { code, out, err } = await terminal.holdfast(...args)
    expect(code, out + err).toBe(0)
    expect(out).toContain('has deleted the lock of B')
    expect(out).toMatch(/at once +▲+/)
    expect(out).toContain('IMPOSSIBLE')
    expect(out).toMatch(/get-then-del: shown \(redis \d/)
    const html = readFileSync(page, 'utf8')
    expect(html).toContain('<svg')
    expect(html).not.toMatch(/(?:src|href)=/)
    expect(readdirSync(folder)).toEqual(['get-then-del-1.svg', 'get-then-del-2.svg'])
    expect(readFileSync(`${folder}/get-then-del-1.svg`, 'utf8')).toContain('has deleted the lock of B')
    expect(readFileSync(`${folder}/get-then-del-2.svg`, 'utf8')).toContain('IMPOSSIBLE')
  })

  test.skipIf(skipped('redis'))('Ctrl-C ends it, and what it has started', async () => {
    await requireServers(['redis'])
    const running = terminal.start(['lab', 'long-job'])
    await until('it has begun', () => running.out.includes('long-job: '))
    running.kill('SIGINT')
    const { code, err } = await running.exit
    expect(err).toContain('stopping')
    expect(code, err).toBe(130)
  })

  test('what is wrong on the command line is told', async () => {
    const cases: [string[], RegExp][] = [
      [['flash-sal'], /did you mean flash-sale/],
      [['zzzzzzzzzzzz'], /holdfast lab lists them/],
      [['--all', 'getset'], /can't be given together/],
      [['--html', 'x.html'], /--html needs the NAME/],
      [['--svg', 'pictures'], /--svg needs the NAME/],
      [['getset', '--svg', '/dev/null/pictures'], /--svg "\/dev\/null\/pictures" can't be written \(ENOTDIR\)/],
      [['--install'], /--install needs the NAME/],
      [['getset', '--html'], /--html needs a value/],
      [['getset', '--html', terminal.path('no/such/folder/x.html')], /can't be written \(ENOENT\)/],
      [['getset', 'stock'], /does not know what to do with "stock"/],
      [['getset', '--colour'], /has no option --colour/],
    ]
    for (const [args, message] of cases) {
      const { code, err } = await terminal.holdfast('lab', ...args)
      expect(code, args.join(' ')).toBe(64)
      expect(err).toMatch(message)
    }
  })
})
