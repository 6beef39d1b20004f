import { describe, expect, it } from 'vitest'
import { Terminal } from './terminal.ts'

const terminal = new Terminal()

describe('limit', () => {
  it('takes, then refuses with 75 and says when to try again; a key has a rate of its own', async () => {
    const rate = ['--rate', '2/1h', '--burst', '2']
    expect(await terminal.holdfast('limit', 'mail', ...rate)).toMatchObject({
      code: 0,
      out: 'taken; 1 left\n',
      err: '',
    })
    expect(await terminal.holdfast('limit', 'mail', ...rate)).toMatchObject({ code: 0 })
    const refused = await terminal.holdfast('limit', 'mail', ...rate)
    expect(refused).toMatchObject({ code: 75, out: '' })
    expect(refused.err).toMatch(/^holdfast: limit "mail": refused; try again in \d+m\d\ds\n$/)
    const waited = await terminal.holdfast('limit', 'mail', ...rate, '--wait', '1s', '--json')
    expect(waited.code).toBe(75)
    const { allowed, retryAfterMs } = JSON.parse(waited.out) as { allowed: boolean; retryAfterMs: number }
    expect(allowed).toBe(false)
    expect(retryAfterMs).toBeGreaterThan(60_000)
    expect(await terminal.holdfast('limit', 'mail', ...rate, '--key', 'me', '--cost', '2')).toMatchObject({ code: 0 })
  })

  it('runs a program only if there was enough, and ends as it does', async () => {
    const limit = ['limit', 'work', '--rate', '1/1h', '--']
    expect(await terminal.holdfast(...limit, 'sh', '-c', 'echo done; exit 7')).toMatchObject({ code: 7, out: 'done\n' })
    expect(await terminal.holdfast(...limit, 'echo', 'never')).toMatchObject({ code: 75, out: '' })
    expect(await terminal.holdfast('limit', 'x', '--rate', '1/1h', '--', 'no-such-program')).toMatchObject({
      code: 127,
    })
    expect(await terminal.holdfast('limit', 'y', '--rate', '1/1h', '--', 'sh', '-c', 'kill -TERM $$')).toMatchObject({
      code: 143,
    })
  })

  it.each([
    [['limit', 'a'], /needs a --rate/],
    [['limit', 'a', '--rate', '5'], /--rate must be a number and a time/],
    [['limit', 'a', '--rate', '0/1s'], /--rate must be a whole number from 1/],
    [['limit', 'a', '--rate', '5/0s'], /the time of --rate/],
    [['limit', 'a', '--rate', '-5/1s'], /--rate/],
    [['limit', 'a', '--rate', '5/1s', '--burst', '1.5'], /--burst must be a whole number/],
    [['limit', 'a', '--rate', '5/1s', '--cost', '6'], /--cost must be at most the burst, 5/],
    [['limit', 'a', '--rate', '5/1s', '--json', '--', 'true'], /--json and a program/],
    [['limit', 'a', '--rate', '5/1s', '--store', 'memory:'], /only one process can see this store/],
    [['id', '--count', '0'], /--count must be a whole number from 1/],
    [['id', '--count', 'x'], /--count/],
    [['id', '--name', 'a', '--segment', 'b'], /can't be given together/],
    [['id', '--store', 'memory:'], /only one process can see this store/],
  ])('%j is refused with 64', async (args, message) => {
    const exit = await terminal.holdfast(...args)
    expect(exit).toMatchObject({ code: 64, out: '' })
    expect(exit.err).toMatch(message)
  })
})

describe('id', () => {
  it('makes ids that differ, also between processes, and says what they are made of', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => terminal.holdfast('id', '--count', '1500')))
    const ids = runs.flatMap(({ out }) => out.trimEnd().split('\n'))
    expect(ids).toHaveLength(4_500)
    expect(new Set(ids).size).toBe(4_500)
    const { out } = await terminal.holdfast('id', '--json')
    expect(JSON.parse(out)).toMatchObject({ id: expect.stringMatching(/^\d{18,19}$/), sequence: 0 })
  })

  it('counts up without gaps with --segment', async () => {
    expect((await terminal.holdfast('id', '--segment', 'invoices')).out).toBe('1\n')
    expect((await terminal.holdfast('id', '--segment', 'invoices', '--count', '3')).out).toBe('2\n3\n4\n')
    expect((await terminal.holdfast('id', '--segment', 'invoices', '--json')).out).toBe('{"id":"5"}\n')
  })
})
