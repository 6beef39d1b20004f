/**
 * The handler behind node:http: who is let in, what a request can change, and how it is mounted. Needs the built page.
 */
import { request, type RequestListener } from 'node:http'
import { connect } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import express from 'express'
import { holdfast } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AuditLine, lockConsole } from '../src/index.ts'
import type { All, Detail } from '../src/wire.ts'
import { serve, type Site, site, TOKEN } from './rig.ts'

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Not by fetch, which lets nobody choose Host and Origin. */
function ask(
  url: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers }, (res) => {
      const done = (): void => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: text })
      let text = ''
      res.setEncoding('utf8').on('data', (part: string) => {
        text += part
        // A stream does not end by itself.
        if (text.startsWith('event:')) {
          done()
          res.destroy()
        }
      })
      res.on('end', done)
      res.on('error', reject)
    })
    req.on('error', reject)
    req.end(body)
  })
}

/** Not by a client that reads the address first. */
async function rawStatus(port: number, path: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  return Number(/^HTTP\/1.1 (\d+)/.exec(await readAll(socket))?.[1])
}

const JSON_TYPE = { 'content-type': 'application/json' }
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

describe('the handler', () => {
  let shown: Site

  beforeAll(async () => {
    shown = await site('memory:')
  })

  afterAll(async () => {
    await shown[Symbol.asyncDispose]()
  })

  /** What a person would send who saw this lock. */
  async function orderFor(name: string, now = false): Promise<string> {
    const tokens = async (): Promise<string[]> => {
      const { body } = await ask(`${shown.url}api/lock?name=${encodeURIComponent(name)}`)
      return (JSON.parse(body) as Detail).holders.map(({ token }) => token)
    }
    await expect.poll(async () => (await tokens()).length).toBe(1)
    return JSON.stringify({ name, now, tokens: await tokens() })
  }

  test('serves the page with a policy that lets nothing foreign in', async () => {
    const { status, headers, body } = await ask(shown.url)
    expect(status).toBe(200)
    expect(body).not.toMatch(/https?:\/\//)
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).not.toContain('unsafe')
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
  })

  test.each(['evil.example', `evil.example:80`, '127.0.0.1.evil.example', 'localhost@evil.example', '0.0.0.0'])(
    'a foreign Host is refused: %s',
    async (host) => {
      for (const path of ['', 'page.js', 'api/stream', 'api/lock?name=a']) {
        const { status } = await ask(shown.url + path, { headers: { host } })
        expect([400, 421]).toContain(status)
      }
    },
  )

  test('a foreign Origin is refused, also with the token', async () => {
    await using held = await shown.hf.mutex('origin').acquire()
    const body = await orderFor('origin')
    for (const origin of ['http://evil.example', 'null', `http://127.0.0.1:${shown.port + 1}`]) {
      const headers = { ...JSON_TYPE, ...bearer(TOKEN), origin }
      expect((await ask(`${shown.url}api/break`, { method: 'POST', headers, body })).status).toBe(403)
      expect((await ask(`${shown.url}api/stream`, { headers: { origin } })).status).toBe(403)
    }
    const site = { 'sec-fetch-site': 'cross-site' }
    expect((await ask(`${shown.url}api/stream`, { headers: site })).status).toBe(403)
    expect((await ask(shown.url, { headers: site })).status).toBe(200)
    expect(held.state).toBe('held')
  })

  test('GET changes nothing', async () => {
    await using held = await shown.hf.mutex('get').acquire()
    const body = await orderFor('get', true)
    const { tokens } = JSON.parse(body) as { tokens: string[] }
    const headers = { ...JSON_TYPE, ...bearer(TOKEN) }
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status } = await ask(`${shown.url}api/break?name=get&now=true&tokens=${tokens[0]}`, { method, headers })
      expect(status).toBe(405)
    }
    expect(held.state).toBe('held')
    expect((await ask(`${shown.url}api/lock?name=get`, { method: 'POST', headers, body })).status).toBe(405)
  })

  test('breaks only with the right token, JSON, and the holder that was seen; each try is audited', async () => {
    await using held = await shown.hf.mutex('break').acquire()
    const body = await orderFor('break', true)
    shown.audit.length = 0
    const post = async (headers: Record<string, string>, text: string): Promise<number> =>
      (await ask(`${shown.url}api/break`, { method: 'POST', headers, body: text })).status
    expect(await post(JSON_TYPE, body)).toBe(401)
    expect(await post({ ...JSON_TYPE, ...bearer(`${TOKEN}x`) }, body)).toBe(401)
    expect(await post({ ...bearer(TOKEN), 'content-type': 'text/plain' }, body)).toBe(415)
    expect(await post({ ...JSON_TYPE, ...bearer(TOKEN) }, '{"name":"break"}')).toBe(400)
    expect(await post({ ...JSON_TYPE, ...bearer(TOKEN) }, '"'.repeat(100_000))).toBe(400)
    const stale = JSON.stringify({ name: 'break', now: true, tokens: ['1'] })
    expect(await post({ ...JSON_TYPE, ...bearer(TOKEN) }, stale)).toBe(409)
    expect(held.state).toBe('held')
    expect(await post({ ...JSON_TYPE, ...bearer(TOKEN) }, body)).toBe(200)
    await expect.poll(() => held.state).toBe('lost')
    expect(shown.audit.map(({ broken }) => broken)).toEqual([null, null, null, 1])
  })

  test('breaks nobody whom the person has not seen: no holder since the last look, no lock out of sight', async () => {
    await using hf = await holdfast('memory:')
    const first = await hf.mutex('mine:a').acquire()
    const theirs = await hf.mutex('theirs').acquire()
    const audit: AuditLine[] = []
    const allowBreak = { token: TOKEN, audit: (line: AuditLine) => void audit.push(line) }
    const page = lockConsole(hf, { allowBreak, prefix: 'mine:', pollMs: 3_600_000 })
    const { url, close } = await serve(page)
    const seen = async (): Promise<string[]> => {
      const { body } = await ask(`${url}api/lock?name=mine:a`)
      return (JSON.parse(body) as Detail).holders.map(({ token }) => token)
    }
    await expect.poll(async () => (await seen()).length).toBe(1)
    const tokens = await seen()
    const post = async (order: object): Promise<number> => {
      const body = JSON.stringify({ now: true, ...order })
      const headers = { ...JSON_TYPE, ...bearer(TOKEN) }
      return (await ask(`${url}api/break`, { method: 'POST', headers, body })).status
    }
    await first.release()
    expect(await post({ name: 'mine:a', tokens })).toBe(409)
    // The console has not looked since: it still shows the first holder.
    const next = await hf.mutex('mine:a', { label: 'next' }).acquire()
    const fresh = await hf.mutex('mine:b').acquire()
    expect(await post({ name: 'mine:a', tokens })).toBe(409)
    expect(await post({ name: 'mine:b', tokens: [] })).toBe(409)
    expect(await post({ name: 'theirs', tokens: [] })).toBe(404)
    expect([next, fresh, theirs].map(({ state }) => state)).toEqual(['held', 'held', 'held'])
    expect(audit.map(({ broken }) => broken)).toEqual([null, null, null, null])
    expect(audit[1]?.holders[0]).toContain('next')
    page.close()
    await close()
  })

  test('what is no address is not there', async () => {
    for (const path of ['//', '//[', '/\\']) expect(await rawStatus(shown.port, path)).toBe(404)
  })

  test('is read-only unless it is told otherwise', async () => {
    await using hf = await holdfast('memory:')
    const page = lockConsole(hf)
    const { url, close } = await serve(page)
    const order = JSON.stringify({ name: 'a', now: true, tokens: [] })
    const headers = { ...JSON_TYPE, ...bearer(TOKEN) }
    expect((await ask(`${url}api/break`, { method: 'POST', headers, body: order })).status).toBe(403)
    page.close()
    await close()
  })

  test('a token for reading guards everything but the empty page', async () => {
    await using hf = await holdfast('memory:')
    const page = lockConsole(hf, { readToken: TOKEN })
    const { url, close } = await serve(page)
    expect((await ask(url)).status).toBe(200)
    for (const path of ['api/stream', 'api/lock?name=a']) {
      expect((await ask(url + path)).status).toBe(401)
      expect((await ask(url + path, { headers: bearer('wrong-wrong-wrong-wrong') })).status).toBe(401)
      expect((await ask(url + path, { headers: bearer(TOKEN) })).status).toBe(200)
    }
    page.close()
    await close()
  })

  test('shows what processes report: why a lock was lost, who gave up', async () => {
    const id = '0123456789abcdef'
    const told = { atMs: Date.now(), lock: 'reported', ms: 1_500 }
    const recent = [
      { ...told, event: 'lost', reason: 'expired', token: '7' },
      { ...told, event: 'timed-out' },
      { ...told, event: 'acquired' },
      { event: 'lost' },
    ]
    await shown.hf.cell(`holdfast/report/${id}`).update(() => ({ v: 1, id, host: 'web-1', pid: 7, label: 'x', recent }))
    await shown.hf.cell('holdfast/reports').update(() => ({ [id]: { host: 'web-1' }, 'no id': {}, feed: {} }))
    const events = async (): Promise<string[]> => {
      const { body } = await ask(`${shown.url}api/lock?name=reported`)
      return (JSON.parse(body) as Detail).events.map(({ kind, who, note }) => `${kind}: ${who}: ${note}`)
    }
    const both = ['lost: x (web-1:7): expired, held 1.5s, reported', 'timed out: x (web-1:7): waited 1.5s, reported']
    await expect.poll(events).toEqual(both)
  })

  test('counts each loss once: those it sees, those that are reported, and those that are both', async () => {
    await using mine = await site('memory:')
    const losses = async (): Promise<number> => {
      const { body } = await ask(`${mine.url}api/stream`)
      const { points } = JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '') as All
      return points.reduce((sum, point) => sum + point.losses, 0)
    }
    const { token } = await mine.hf.mutex('seen', { ttlMs: 1_000, renew: false }).acquire()
    await expect.poll(losses).toBe(1)
    const told = { atMs: Date.now(), event: 'lost', reason: 'expired', ms: 1 }
    const recent = [
      { ...told, lock: 'seen', token: String(token) },
      // Another caller of that process, to whom the same place was handed on.
      { ...told, lock: 'seen', token: String(token + 1n) },
      { ...told, lock: 'forgotten', token: '2048' },
      { ...told, lock: 'odd', token: 'x' },
    ]
    const report = { v: 1, id: 'ab', host: 'h', pid: 7, label: '', recent }
    await mine.hf.cell('holdfast/report/ab').update(() => report)
    await mine.hf.cell('holdfast/reports').update(() => ({ ab: { host: 'h' } }))
    await expect.poll(losses).toBe(3)
  })

  test('can be mounted in an application, below a path', async () => {
    await using hf = await holdfast('memory:')
    const page = lockConsole(hf)
    const app = express() as unknown as RequestListener & { use(path: string, handler: RequestListener): void }
    app.use('/ops/locks', page)
    app.use('/', (_, res) => void res.end('mine'))
    const { url, close } = await serve(app)
    const { status, headers } = await ask(`${url}ops/locks`)
    expect([status, new URL(String(headers['location']), `${url}ops/locks`).pathname]).toEqual([308, '/ops/locks/'])
    expect((await ask(`${url}ops/locks/`)).body).toContain('<div id="app">')
    expect((await ask(`${url}ops/locks/page.js`)).status).toBe(200)
    expect((await ask(`${url}ops/locks/api/stream`)).body).toMatch(/^event: all\n/)
    expect((await ask(url)).body).toBe('mine')
    page.close()
    await close()
  })
})
