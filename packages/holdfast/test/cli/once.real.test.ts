import { describe, expect, it } from 'vitest'
import { Terminal } from './terminal.ts'

const terminal = new Terminal()

describe('once', () => {
  it('runs a program once in a period, and ls shows the run', async () => {
    const once = (name: string, ...program: string[]) =>
      terminal.holdfast('once', name, '--every', '8760h', '--', ...program)
    const both = await Promise.all([
      once('report', 'sh', '-c', 'echo ran >> once.log'),
      once('report', 'sh', '-c', 'echo ran >> once.log'),
    ])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    const third = await once('report', 'sh', '-c', 'echo ran >> once.log')
    expect(third).toMatchObject({ code: 0, out: '' })
    expect(third.err).toMatch(/report has been run in this period, .* ago on/)
    expect(terminal.read('once.log')).toBe('ran\n')
    const failed = await once('failing', 'sh', '-c', 'exit 3')
    expect(failed.code).toBe(3)
    const { out } = await terminal.holdfast('ls')
    expect(out).toMatch(/^JOB +LAST RUN +AGO +TOOK +OUTCOME +ON\n/)
    expect(out).toMatch(/report +\d{4}-.* ok /)
    expect(out).toMatch(/failing +\d{4}-.* failed /)
    const jobs = (await terminal.holdfast('ls', 'rep', '--json')).out
    expect(JSON.parse(jobs)).toMatchObject({ job: 'report', ok: true })
  })

  it('refuses what makes no sense', async () => {
    for (const args of [
      ['once', 'x', '--', 'true'],
      ['once', 'x', '--every', '10ms', '--', 'true'],
      ['once', 'x', '--every', '1h'],
    ]) {
      expect((await terminal.holdfast(...args)).code).toBe(64)
    }
  })
})
