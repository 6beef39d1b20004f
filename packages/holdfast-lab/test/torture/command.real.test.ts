/** The command: a run on a user's own store, its report, and the same verdict from the file again. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { descendants, isAlive, signalProcess } from '../../src/testbed/proc.ts'
import { requireServers } from '../../src/testbed/require.ts'
import { judgeAppends } from './append-judge.ts'
import { readJepsen } from './jepsen-reader.ts'
import { Terminal, until } from '../../../holdfast/test/cli/terminal.ts'

interface Verdict {
  readonly verdict: string
  readonly counts: { readonly visits: number; readonly faults: Readonly<Record<string, unknown>> }
  readonly notRun: readonly { readonly nemesis: string; readonly why: string }[]
}

/** A client process, or the referee; one that has just gone is neither. */
function isOurs(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/dist/src/torture/')
}

describe('holdfast torture', () => {
  const terminal = new Terminal()
  const history = terminal.path('history.jsonl')

  test('runs on a store of the user, with faults of our own processes only', { timeout: 120_000 }, async () => {
    const report = terminal.path('report.html')
    const options = [
      // One fault in five misses its holder. Two faults, of 4 seconds, all missed once in fifty runs: such a run proves
      // nothing, and says so.
      '--seconds',
      '10',
      '--seed',
      '7',
      '--clients',
      '3',
      '--nemesis',
      'pause-holder,kill-holder',
      '--ttl',
      '600',
    ]
    const files = ['--history', history, '--report', report]
    const { code, out, err } = await terminal.holdfast(
      'torture',
      '--store',
      terminal.store,
      ...options,
      ...files,
      '--json',
    )
    expect(code, out + err).toBe(0)
    const said = JSON.parse(out) as Verdict
    expect(said.verdict).toBe('valid')
    expect(Object.keys(said.counts.faults).toSorted()).toEqual(['kill-holder', 'pause-holder'])
    expect(said.notRun.find(({ nemesis }) => nemesis === 'kill-server')?.why).toBe('the servers are not ours to break')
    // Progress while it runs.
    expect(err).toMatch(/visits · \d+ faults/)
    const html = readFileSync(report, 'utf8')
    expect(html).toContain('<svg')
    expect(html).not.toMatch(/(?:src|href)=/)
    const again = await terminal.holdfast('torture', 'check', history, '--json')
    expect(again.code).toBe(0)
    const judged = JSON.parse(again.out) as Verdict
    expect(judged.verdict).toBe('valid')
    expect(judged.counts).toEqual(said.counts)
  })

  test('a broken history is told as broken', async () => {
    const { code, out } = await terminal.holdfast('torture', 'check', history)
    expect(code, out).toBe(0)
    expect(out).toContain('✓ exclusion')
    const broken = terminal.path('broken.jsonl')
    // Every token is given again.
    writeFileSync(broken, readFileSync(history, 'utf8').replace(/"token":"\d+"/g, '"token":"1"'))
    const judged = await terminal.holdfast('torture', 'check', broken)
    expect(judged.code).toBe(1)
    expect(judged.out).toContain('✗ tokens')
    expect(judged.out).toContain('BROKEN')
  })

  test('the history is given to the checkers of others', async () => {
    const written = async (...options: string[]): Promise<string> => {
      const to = terminal.path('exported')
      const { code, out, err } = await terminal.holdfast('torture', 'export', history, ...options, '--to', to)
      expect(code, out + err).toBe(0)
      return readFileSync(to, 'utf8')
    }
    for (const resource of [[], ['--open']]) {
      const lists = readJepsen(await written('--format', 'list-append', ...resource))
      expect(lists.length).toBeGreaterThan(20)
      expect(judgeAppends(lists)).toEqual([])
    }
    expect(readJepsen(await written('--format', 'edn', '--line', 'mutex-1')).length).toBeGreaterThan(20)
    const lines = (await written('--format', 'porcupine')).trim().split('\n')
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ Input: { op: expect.stringMatching(/acquire|release/) } })
    const several = await terminal.holdfast('torture', 'export', history, '--format', 'edn')
    expect(several.code).toBe(64)
    expect(several.err).toContain('choose one with --line')
  })

  test('Ctrl-C in the middle: everything is mended, the report is written, and nothing is left', {
    timeout: 120_000,
  }, async () => {
    await requireServers(['redis'])
    const TMPDIR = terminal.path('tmp')
    mkdirSync(TMPDIR)
    const report = terminal.path('stopped.html')
    const options = ['--seconds', '600', '--clients', '3', '--history', terminal.path('stopped.jsonl')]
    const run = terminal.start(['torture', '--spawn', 'redis', ...options, '--report', report], { TMPDIR })
    await until('faults are made', () => /chaos .* [1-9]\d* faults/.test(run.err))
    const children = descendants(run.pid)
    expect(children.length).toBeGreaterThan(4)
    // As a terminal does: everybody in the foreground gets it, that is our clients and the referee; servers are in the
    // background.
    for (const child of children) if (isOurs(child.pid)) signalProcess(child, 'SIGINT')
    run.kill('SIGINT')
    const { code, err, out } = await run.exit
    expect(code, out + err).toBe(130)
    expect(err).toContain('what was broken is mended first')
    expect(readFileSync(report, 'utf8')).toContain('<svg')
    await until('all processes have gone', () => !children.some(isAlive))
    expect(readdirSync(TMPDIR)).toEqual([])
  })

  test('what is wrong on the command line is told', async () => {
    const cases: [string[], RegExp][] = [
      [[], /needs --spawn KIND, or the --store URL/],
      [['--spawn', 'reddis'], /did you mean redis/],
      [['--spawn', 'redis', '--store', 'memory:'], /can't be given together/],
      [['--store', terminal.store, '--nemesis', 'pause-holdr'], /did you mean pause-holder/],
      [['--store', terminal.store, '--seconds', 'ten'], /--seconds/],
      [['chekc', history], /did you mean check/],
      [['check'], /needs a FILE/],
      [['export', history], /needs a --format: porcupine, edn, list-append/],
      [['export', history, '--format', 'end'], /did you mean edn/],
      [['check', terminal.folder], /is no file/],
      [['--store', terminal.store, '--nemesis', 'kill-server,flush'], /none of these faults can be made here/],
      [['check', terminal.path('nowhere.jsonl')], /there is no file/],
      [['--store', terminal.store, '--report', terminal.path('nowhere/r.html')], /there is no folder/],
    ]
    for (const [args, message] of cases) {
      const { code, err } = await terminal.holdfast('torture', ...args)
      expect(code, args.join(' ')).toBe(64)
      expect(err).toMatch(message)
    }
  })
})
