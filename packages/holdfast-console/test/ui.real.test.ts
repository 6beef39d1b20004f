/** `holdfast ui`: what it prints, what it refuses, how it ends. Needs the built packages. */
import { get } from 'node:https'
import { describe, expect, test } from 'vitest'
import { requireTools } from '../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../holdfast-lab/src/testbed/testbed.ts'
import { Terminal, until } from '../../holdfast/test/cli/terminal.ts'
import { TOKEN } from './rig.ts'

describe('holdfast ui', () => {
  const terminal = new Terminal()
  const urlIn = (out: string): string => /https?:\/\/\S+/.exec(out)?.[0] ?? ''

  test('prints where it is, serves there, and ends with Ctrl-C', async () => {
    const running = terminal.start(['ui'])
    await until('it serves', () => running.out.includes('read-only'))
    const url = urlIn(running.out)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
    expect(await (await fetch(url)).text()).toContain('Holdfast')
    running.kill('SIGINT')
    const { code, err } = await running.exit
    expect([code, err]).toEqual([130, ''])
  })

  test('prints a token of its own with --allow-break, and one line of JSON for each change', async () => {
    const holder = terminal.start(['run', 'job', '--', 'sleep', '60'])
    const running = terminal.start(['ui', '--allow-break', '--poll', '250ms'])
    await until('it serves', () => running.out.includes('with this token: '))
    const token = /token: (\S{20,})/.exec(running.out)?.[1] ?? ''
    const url = urlIn(running.out)
    let tokens: string[] = []
    await until('it sees the lock', async () => {
      const answer = await fetch(`${url}api/lock?name=job`)
      tokens = ((await answer.json()) as { holders: { token: string }[] }).holders.map((one) => one.token)
      return tokens.length === 1
    })
    const answer = await fetch(`${url}api/break`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: 'job', now: true, tokens }),
    })
    expect(await answer.json()).toEqual({ broken: 1 })
    expect((await holder.exit).code).toBe(79)
    await until('it is audited', () => running.err.includes('\n'))
    expect(JSON.parse(running.err)).toMatchObject({ audit: { action: 'break', lock: 'job', now: true, broken: 1 } })
  })

  test('listens elsewhere only with a token, and warns without TLS', async () => {
    const refused = await terminal.holdfast('ui', '--host', '0.0.0.0')
    expect(refused.code).toBe(64)
    expect(refused.err).toContain('needs a token')
    const running = terminal.start(['ui', '--host', '0.0.0.0'], { HOLDFAST_CONSOLE_TOKEN: TOKEN })
    await until('it serves', () => running.out.includes('read-only'))
    expect(running.err).toContain('without TLS')
    expect(running.out).not.toContain(TOKEN)
    const url = urlIn(running.out).replace('0.0.0.0', '127.0.0.1')
    expect((await fetch(`${url}api/lock?name=a`)).status).toBe(401)
    const allowed = await fetch(`${url}api/lock?name=a`, { headers: { authorization: `Bearer ${TOKEN}` } })
    expect(allowed.status).toBe(200)
  })

  test('serves https with a certificate, and warns no more', async () => {
    await requireTools(['certificates'])
    const bed = await testbed()
    const { certFile, keyFile, pem } = await bed.certificate('console')
    const args = ['ui', '--host', '0.0.0.0', '--tls-cert', certFile, '--tls-key', keyFile]
    const running = terminal.start(args, { HOLDFAST_CONSOLE_TOKEN: TOKEN })
    await until('it serves', () => running.out.includes('read-only'))
    const url = urlIn(running.out).replace('0.0.0.0', '127.0.0.1')
    expect(url).toMatch(/^https:/)
    const status = await new Promise((resolve, reject) => {
      get(url, { ca: pem.ca }, (res) => resolve(res.resume().statusCode)).on('error', reject)
    })
    expect([status, running.err]).toEqual([200, ''])
    await bed.close()
  })

  test('what is wrong on the command line is told', async () => {
    const cases: [string[], RegExp][] = [
      [['--port', 'x'], /--port/],
      [['--poll', '10'], /did you mean 10s/],
      [['--limits', 'api'], /--limits must be/],
      [['--tls-cert', 'a.pem'], /go together/],
      [['--token-file', terminal.path('none')], /can't be read \(ENOENT\)/],
      [['--allow-brake'], /did you mean --allow-break/],
    ]
    for (const [args, message] of cases) {
      const { code, err } = await terminal.holdfast('ui', ...args)
      expect([args, code]).toEqual([args, 64])
      expect(err).toMatch(message)
    }
  })
})
