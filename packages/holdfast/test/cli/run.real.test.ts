import { describe, expect, it } from 'vitest'
import { acts, Terminal, turns, until } from './terminal.ts'

const terminal = new Terminal()

describe('run', () => {
  it('gives the program its line, token, lease and store, and passes input and output through', async () => {
    const store = 'sqlite:relative.db'
    const running = terminal.start(
      [
        'run',
        'line 1',
        '--ttl',
        '20s',
        '--store',
        store,
        '--',
        'sh',
        '-c',
        'env | grep ^HOLDFAST_ | sort; cat; echo err >&2',
      ],
      // What npm test itself sets is not the program's business.
      { HOLDFAST_DEBUG: undefined, HOLDFAST_TEST_INSTALL: undefined, HOLDFAST_TEST_SKIP: undefined },
    )
    running.type('typed\n')
    const { code, out, err } = await running.exit
    expect({ code, err }).toEqual({ code: 0, err: 'err\n' })
    expect(out.replace(/HOLDFAST_STORE=.*/, 'HOLDFAST_STORE=').split('\n')).toEqual([
      'HOLDFAST_LINE=line 1',
      expect.stringMatching(/^HOLDFAST_PLACE=[0-9a-f]{16}$/),
      'HOLDFAST_STORE=',
      expect.stringMatching(/^HOLDFAST_TOKEN=\d+$/),
      'HOLDFAST_TTL_MS=20000',
      'typed',
      '',
    ])
    expect(out).toContain(`HOLDFAST_STORE=sqlite:${terminal.path('relative.db')}\n`)
  })

  it('gives larger tokens to later holders', async () => {
    const tokens: bigint[] = []
    for (let i = 0; i < 3; i++) {
      tokens.push(BigInt((await terminal.holdfast('run', 'tokens', '--', 'sh', '-c', 'echo $HOLDFAST_TOKEN')).out))
    }
    expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)))
    expect(new Set(tokens).size).toBe(3)
  })

  it('lets one program act at a time', async () => {
    const exits = ['a', 'b', 'c', 'd', 'e'].map(
      (mark) => terminal.script(['alone', '--quiet'], acts('alone.log', mark, 20)).exit,
    )
    for (const exit of exits) expect(await exit).toMatchObject({ code: 0, err: '' })
    expect(turns(terminal.read('alone.log')).sort()).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('serves those who wait in their order', async () => {
    const first = terminal.script(['order'], `${acts('order.log', 'first', 1)}; cat`)
    await until('the first acts', () => terminal.read('order.log') !== '')
    const exits = [first.exit]
    for (const [i, mark] of ['second', 'third', 'fourth'].entries()) {
      exits.push(terminal.script(['order'], acts('order.log', mark, 3)).exit)
      await until(`${mark} stands in line`, async () => (await terminal.waiters('order')) === i + 1)
    }
    first.type('')
    for (const exit of exits) expect(await exit).toMatchObject({ code: 0 })
    expect(turns(terminal.read('order.log'))).toEqual(['first', 'second', 'third', 'fourth'])
  })

  it('runs as many at a time as there are permits', async () => {
    const [a, b] = ['a', 'b'].map((mark) => terminal.script(['p', '--permits', '1/3'], acts('p.log', mark, 0)))
    await until('both act', () => /a [^]*b /.test(terminal.read('p.log')) || /b [^]*a /.test(terminal.read('p.log')))
    expect(await terminal.holdfast('run', 'p', '--no-wait', '--permits', '2/3', '--', 'true')).toMatchObject({
      code: 75,
    })
    expect(await terminal.holdfast('run', 'p', '--no-wait', '--permits', '1/3', '--', 'true')).toMatchObject({
      code: 0,
    })
    const other = await terminal.holdfast('run', 'p', '--no-wait', '--permits', '1/4', '--', 'true')
    expect(other).toMatchObject({ code: 64 })
    expect(other.err).toMatch(/^holdfast: .*capacity/)
    expect([a?.hasExited, b?.hasExited]).toEqual([false, false])
  })

  it('lets those that share act together, and keeps them from those that do not', async () => {
    terminal.script(['s', '--shared'], acts('s.log', 'reader', 0))
    await until('the reader acts', () => terminal.read('s.log') !== '')
    expect(await terminal.holdfast('run', 's', '--shared', '--no-wait', '--', 'true')).toMatchObject({ code: 0 })
    expect(await terminal.holdfast('run', 's', '--no-wait', '--', 'true')).toMatchObject({ code: 75 })
    expect(await terminal.holdfast('run', 's', '--wait', '1s', '--', 'true')).toMatchObject({ code: 75 })
  })

  it('keeps those that share from one that holds alone, whichever came first', async () => {
    terminal.script(['m'], acts('m.log', 'alone', 0))
    await until('the holder acts', () => terminal.read('m.log') !== '')
    expect(await terminal.holdfast('run', 'm', '--shared', '--no-wait', '--', 'true')).toMatchObject({ code: 75 })
    const err = (await terminal.holdfast('run', 'm', '--shared', '--wait', '1s', '--', 'true')).err
    expect(err).toMatch(/^(holdfast: waiting .*\n)?holdfast: lock "m" stayed held by others for 1000 ms\n$/)
  })

  it('ends with its program, and does not wait for what that left behind', async () => {
    const exit = await terminal.holdfast('run', 'bg', '--', 'sh', '-c', 'sleep 60 >/dev/null 2>&1 & echo $! > bg.pid')
    expect(exit).toMatchObject({ code: 0, err: '' })
    expect(await terminal.holdfast('run', 'bg', '--no-wait', '--', 'true')).toMatchObject({ code: 0 })
    process.kill(Number(terminal.read('bg.pid')), 'SIGKILL')
  })
})
