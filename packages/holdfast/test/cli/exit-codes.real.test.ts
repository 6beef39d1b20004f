import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { acts, Terminal, until } from './terminal.ts'

const terminal = new Terminal()

describe('the exit code of run', () => {
  it.each([0, 1, 3, 75, 79, 255])("is the program's own: %d", async (code) => {
    const exit = await terminal.holdfast('run', 'own', '--', 'sh', '-c', `exit ${code}`)
    expect(exit).toEqual({ code, signal: null, out: '', err: '' })
  })

  it.each([
    ['KILL', 137],
    ['TERM', 143],
    ['INT', 130],
    ['SEGV', 139],
  ])('is 128+n when the program dies by %s', async (signal, code) => {
    const exit = await terminal.holdfast('run', 'own', '--', 'sh', '-c', `kill -${signal} $$`)
    expect(exit).toMatchObject({ code, err: '' })
  })

  it('is 75 at once with --no-wait, and after the time with --wait, while somebody else has the lock', async () => {
    const holder = terminal.script(['busy'], acts('busy.log', 'holder', 0))
    await until('the holder acts', () => terminal.read('busy.log') !== '')
    const atOnce = await terminal.holdfast('run', 'busy', '--no-wait', '--', 'echo', 'never')
    expect(atOnce).toMatchObject({ code: 75, out: '' })
    expect(atOnce.err).toMatch(/^holdfast: lock "busy" is held by others[^\n]*\n$/)
    const later = await terminal.holdfast('run', 'busy', '--wait', '1s', '--', 'echo', 'never')
    expect(later).toMatchObject({ code: 75, out: '' })
    expect(later.err).toMatch(/^(holdfast: waiting .*\n)?holdfast: lock "busy" stayed held by others for 1000 ms\n$/)
    expect(holder.hasExited).toBe(false)
  })

  it.each([
    ['INT', 130],
    ['TERM', 143],
    ['HUP', 129],
    ['QUIT', 131],
  ] as const)('is 128+n when %s ends the wait, and the place in line is given up', async (signal, code) => {
    terminal.script(['queue'], acts(`queue-${signal}.log`, 'holder', 0))
    await until('the holder acts', () => terminal.read(`queue-${signal}.log`) !== '')
    const waiter = terminal.start(['run', 'queue', '--quiet', '--', 'echo', 'never'])
    await until('it stands in line', async () => (await terminal.waiters('queue')) === 1)
    waiter.kill(`SIG${signal}`)
    expect(await waiter.exit).toEqual({ code, signal: null, out: '', err: '' })
    expect(await terminal.waiters('queue')).toBe(0)
  })

  it('is 127 for a program that is not there, and 126 for one that cannot be run', async () => {
    const missing = await terminal.holdfast('run', 'x', '--', 'no-such-program')
    expect(missing).toMatchObject({ code: 127, err: 'holdfast: there is no program "no-such-program": ENOENT\n' })
    expect(await terminal.holdfast('run', 'x', '--', './nowhere')).toMatchObject({ code: 127 })
    writeFileSync(terminal.path('plain'), 'not a program')
    expect(await terminal.holdfast('run', 'x', '--', './plain')).toMatchObject({ code: 126 })
    mkdirSync(terminal.path('folder'))
    expect(await terminal.holdfast('run', 'x', '--', './folder')).toMatchObject({ code: 126 })
    writeFileSync(terminal.path('script'), '#!/no/such/interpreter\n')
    chmodSync(terminal.path('script'), 0o755)
    expect(await terminal.holdfast('run', 'x', '--', './script')).toMatchObject({ code: 126 })
    // And the lock is free again.
    expect(await terminal.holdfast('run', 'x', '--no-wait', '--', 'true')).toMatchObject({ code: 0 })
  })

  it.each([
    [[], /no command was given/],
    [['rnu'], /did you mean run\?/],
    [['run', 'x', '--tll', '5s', '--', 'true'], /did you mean --ttl\?/],
    [['run', 'x', '--ttl', '5', '--', 'true'], /--ttl must be a time such as .* did you mean 5s\?/],
    [['run', 'x', '--ttl', '0s', '--', 'true'], /--ttl/],
    [['run', 'x', '--ttl', '2000h', '--', 'true'], /--ttl/],
    [['run', 'x', '--wait', '1s', '--no-wait', '--', 'true'], /can't be given together/],
    [['run', 'x', '--shared', '--permits', '1/2', '--', 'true'], /can't be given together/],
    [['run', 'x', '--permits', '3/2', '--', 'true'], /--permits must be k\/n/],
    [['run', 'x', '--permits', '2', '--', 'true'], /--permits must be k\/n/],
    [['run', '', '--', 'true'], /1 to 512 bytes/],
    [['run', 'x'.repeat(513), '--', 'true'], /1 to 512 bytes/],
    [['run', 'x', '--', ''], /empty/],
    [['run', 'x', '--store', 'nosuch://u:secret@h', '--', 'true'], /must begin with one of/],
    [['run', 'x', '--store', 'memory:', '--', 'true'], /only one process/],
    [['ls', '--store', 'sqlite:x.db?nosuch=1'], /has no option "nosuch"/],
    [['ls', 'a', 'b'], /does not know what to do with "b"/],
    [['show'], /show needs a NAME/],
    [['break', 'x', '--nwo'], /did you mean --now\?/],
  ])('is 64, with one line of explanation, for %j', async (args, message) => {
    const exit = await terminal.holdfast(...args)
    expect(exit).toMatchObject({ code: 64, out: '' })
    expect(exit.err).toMatch(/^holdfast: [^\n]*\n$/)
    expect(exit.err).toMatch(message)
    expect(exit.err).not.toContain('secret')
  })

  it.each([['run', 'x', '--', 'true'], ['ls'], ['show', 'x'], ['break', 'x', '--yes']])(
    'is 69 for a store that cannot be used: %s',
    async (...args) => {
      writeFileSync(terminal.path('file'), '')
      const store = `sqlite:${terminal.path('file')}/below/a/file.db`
      const exit = await terminal.start(args, { HOLDFAST_STORE: store }).exit
      expect(exit).toMatchObject({ code: 69, out: '' })
      expect(exit.err).toMatch(/^holdfast: [^\n]*\n$/)
    },
  )

  it('is 0 for help and version', async () => {
    const { out } = await terminal.holdfast('--version')
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(await terminal.holdfast('-V')).toMatchObject({ code: 0, out, err: '' })
    for (const args of [['--help'], ['help'], ['-h']]) {
      const exit = await terminal.holdfast(...args)
      expect(exit).toMatchObject({ code: 0, err: '' })
      expect(exit.out).toMatch(/^holdfast: [\s\S]* run NAME -- program …/)
    }
    for (const args of [
      ['help', 'run'],
      ['run', '--help'],
      ['ls', '-h'],
      ['show', '--help'],
    ]) {
      const exit = await terminal.holdfast(...args)
      expect(exit).toMatchObject({ code: 0, err: '' })
      expect(exit.out).toMatch(/Usage: holdfast[\s\S]*Examples:/)
    }
  })
})
