import { describe, expect, it } from 'vitest'
import { acts, isAlive, type Running, Terminal, turns, until } from './terminal.ts'

const terminal = new Terminal()

function elect(args: readonly string[], script: string): Running {
  return terminal.start(['elect', ...args, '--', 'sh', '-c', script])
}

describe('elect', () => {
  it('runs the program of one candidate at a time, and the next takes over', async () => {
    const first = elect(['lead', '--value', 'a:1'], `${acts('lead.log', 'first', 1)}; cat`)
    await until('the first acts', () => terminal.read('lead.log') !== '')
    const second = elect(['lead', '--value', 'b:2', '--quiet'], acts('lead.log', 'second', 3))
    await until('the second stands', async () => (await terminal.waiters('lead')) === 1)
    const { out } = await terminal.holdfast('show', 'lead')
    expect(out).toMatch(/VALUE[\s\S]*holds .* a:1\n[\s\S]*waits .* b:2/)
    expect((await terminal.holdfast('elect', 'lead', '--no-wait', '--', 'echo', 'never')).code).toBe(75)
    first.type('')
    expect(await first.exit).toMatchObject({ code: 0, err: '' })
    expect(await second.exit).toMatchObject({ code: 0, err: '' })
    expect(turns(terminal.read('lead.log'))).toEqual(['first', 'second'])
  })

  it('gives the program what run gives', async () => {
    const exit = await elect(['env', '--ttl', '20s'], 'env | grep ^HOLDFAST_ | cut -d= -f1 | sort; exit 3').exit
    expect(exit.code).toBe(3)
    const names = ['LINE', 'PLACE', 'STORE', 'TOKEN', 'TTL_MS'].map((name) => `HOLDFAST_${name}`)
    expect(exit.out.split('\n').filter((name) => names.includes(name))).toEqual(names)
  })

  it('stops the program when the lead is lost, stands again, and starts it anew with a larger token', async () => {
    const candidate = elect(['again'], 'trap "exit 0" TERM; echo $HOLDFAST_TOKEN; while :; do sleep 0.01; done')
    const tokens = (): bigint[] => candidate.out.split('\n').filter(Boolean).map(BigInt)
    await until('it leads', () => tokens().length === 1)
    await terminal.holdfast('break', 'again', '--yes', '--now')
    await until('it leads again', () => tokens().length === 2)
    await until('it tells of the loss', () => candidate.err.includes('standing for election again'))
    candidate.kill('SIGTERM')
    expect(await candidate.exit).toMatchObject({ code: 0 })
    const [before = 0n, after = 0n] = tokens()
    expect(after).toBeGreaterThan(before)
  })

  it('with --once ends with 79 instead', async () => {
    const candidate = elect(['once', '--once'], 'echo ready; exec sleep 60')
    await until('it leads', () => candidate.out !== '')
    await terminal.holdfast('break', 'once', '--yes', '--now')
    const exit = await candidate.exit
    expect(exit.code).toBe(79)
    expect(exit.err).toMatch(/^holdfast: [^\n]*"once"[^\n]*; sh was ended by SIGTERM\n$/)
  })

  it('a leader stopped past its lease is followed by another, and stands behind it afterwards', async () => {
    const first = elect(['paused', '--ttl', '2s'], acts('paused.log', 'first', 0))
    await until('the first acts', () => terminal.read('paused.log') !== '')
    const second = elect(['paused'], `echo $$ > second.pid; ${acts('paused.log', 'second', 0)}`)
    first.kill('SIGSTOP')
    await until('the second acts', () => terminal.read('paused.log').includes('second'))
    first.kill('SIGCONT')
    await until('the first stands again', async () => (await terminal.waiters('paused')) === 1)
    expect(turns(terminal.read('paused.log'))).toEqual(['first', 'second'])
    second.kill('SIGTERM')
    expect(await second.exit).toMatchObject({ code: 143 })
    const length = terminal.read('paused.log').length
    await until('the first acts again', () => terminal.read('paused.log').slice(length).includes('first'))
    expect(isAlive(Number(terminal.read('second.pid')))).toBe(false)
    first.kill('SIGTERM')
    expect(await first.exit).toMatchObject({ code: 143 })
  })

  it('a signal ends it while it stands again, and also while its program is being stopped', async () => {
    const candidate = elect(['sig', '--ttl', '2s'], 'echo ready; exec sleep 60')
    await until('it leads', () => candidate.out !== '')
    const other = terminal.start(['run', 'sig', '--', 'sleep', '60'])
    await until('another waits', async () => (await terminal.waiters('sig')) === 1)
    await terminal.holdfast('break', 'sig', '--yes', '--now')
    await until('it stands again', async () => (await terminal.waiters('sig')) === 1)
    candidate.kill('SIGUSR1')
    candidate.kill('SIGINT')
    expect(await candidate.exit).toMatchObject({ code: 130 })
    expect(other.hasExited).toBe(false)
    const stopped = elect(['slow', '--grace', '1s'], `trap 'echo told' TERM; echo ready; while :; do sleep 0.01; done`)
    await until('it leads', () => stopped.out.includes('ready'))
    await terminal.holdfast('break', 'slow', '--yes', '--now')
    await until('its program is told', () => stopped.out.includes('told'))
    stopped.kill('SIGTERM')
    expect(await stopped.exit).toMatchObject({ code: 79 })
  })

  it.each([
    [['elect', 'x'], /needs a program to run/],
    [['elect', '--', 'true'], /elect needs a NAME/],
    [['elect', 'x', '--shared', '--', 'true'], /elect has no option --shared/],
    [['elect', 'x', '--wait', '1s', '--no-wait', '--', 'true'], /can't be given together/],
    [['elect', 'x', '--once=1', '--', 'true'], /--once takes no value/],
  ])('is 64, with one line of explanation, for %j', async (args, message) => {
    const exit = await terminal.holdfast(...args)
    expect(exit).toMatchObject({ code: 64, out: '' })
    expect(exit.err).toMatch(message)
  })

  it('is 127 for a program that is not there, 64 for a value that is too long, 0 for help', async () => {
    expect(await terminal.holdfast('elect', 'x', '--', 'no-such-program')).toMatchObject({ code: 127 })
    const long = await terminal.holdfast('elect', 'x', '--value', 'v'.repeat(513), '--', 'true')
    expect([long.code, long.err]).toEqual([64, expect.stringMatching(/--value must be/)])
    const { code, out } = await terminal.holdfast('elect', '--help')
    expect(code).toBe(0)
    expect(out).toMatch(/Usage: holdfast elect[\s\S]*Examples:/)
  })
})
