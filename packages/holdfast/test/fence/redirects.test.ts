/** A service may redirect: the token of a hold goes along within its origin, and nowhere else. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fencedFetch, type Proof } from '../../src/fence/index.ts'

const PROOF: Proof = { line: 'l', token: 5n, place: '0123456789abcdef' }

interface Seen {
  readonly at: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const servers: Server[] = []
let seen: Seen[] = []
let here = ''
let elsewhere = ''

async function serve(redirect: (path: string) => readonly [number, string] | null): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '/', method = '', headers } = request
    seen.push({ at: `${request.headers.host}${url}`, method, headers, body: await text(request) })
    const to = redirect(url)
    if (to === null) response.end('served')
    else response.writeHead(to[0], { location: to[1] }).end('moved')
  }
  const server = createServer((request, response) => void answer(request, response))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeEach(async () => {
  seen = []
  elsewhere = await serve((path) => (path.startsWith('/back') ? [307, `${here}/end`] : null))
  here = await serve((path) => {
    const [, status, to] = /^\/(30\d)\/(.*)$/.exec(path) ?? []
    return status === undefined ? null : [Number(status), to?.startsWith('http') ? to : `/${to}`]
  })
})
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const token = ({ headers }: Seen): string | undefined => headers['holdfast-token'] as string | undefined

test('within its origin the token goes along', async () => {
  const response = await fencedFetch(PROOF, `${here}/307/308/end`, { method: 'PUT', body: 'n=1' })
  expect(await response.text()).toBe('served')
  expect(seen.map(({ method, body }) => [method, body])).toEqual(Array.from({ length: 3 }, () => ['PUT', 'n=1']))
  expect(seen.map(token).every((value) => value?.startsWith('5;'))).toBe(true)
})

test('to another origin it does not, nor does it come back with it', async () => {
  const headers = { authorization: 'Bearer secret', 'x-mine': '1' }
  await fencedFetch(PROOF, `${here}/307/${elsewhere}/end`, { method: 'PUT', body: 'n=1', headers })
  expect(seen.map(({ body }) => body)).toEqual(['n=1', 'n=1'])
  expect(token(seen[0] as Seen)).toMatch(/^5;/)
  expect(token(seen[1] as Seen)).toBeUndefined()
  expect(seen[1]?.headers).toMatchObject({ 'x-mine': '1' })
  expect(seen[1]?.headers.authorization).toBeUndefined()
  seen = []
  await fencedFetch(PROOF, new Request(`${here}/307/${elsewhere}/back`, { method: 'POST', body: 'n=1' }))
  expect(seen.map(({ body }) => body)).toEqual(['n=1', 'n=1', 'n=1'])
  expect(seen.map(token).map((value) => value !== undefined)).toEqual([true, false, false])
})

test('methods and bodies change as fetch changes them, and a circle ends', async () => {
  await fencedFetch(PROOF, `${here}/303/end`, { method: 'PUT', body: 'n=1' })
  await fencedFetch(PROOF, `${here}/302/end`, { method: 'POST', body: new URLSearchParams({ n: '1' }) })
  await fencedFetch(PROOF, `${here}/302/end`, { method: 'PUT', body: 'n=1' })
  expect(seen.filter(({ at }) => /^[^/]+\/end$/.test(at)).map(({ method, body }) => [method, body])).toEqual([
    ['GET', ''],
    ['GET', ''],
    ['PUT', 'n=1'],
  ])
  expect(seen.filter(({ method }) => method === 'GET').every(({ headers }) => !headers['content-type'])).toBe(true)
  const form = new FormData()
  form.set('n', '1')
  seen = []
  await fencedFetch(PROOF, `${here}/307/end`, { method: 'POST', body: form })
  const { headers, body } = seen[1] as Seen
  expect(body).toContain(/boundary=(.*)$/.exec(String(headers['content-type']))?.[1])
  const circle = await serve(() => [307, '/'])
  await expect(fencedFetch(PROOF, circle)).rejects.toThrow(/more than 20 redirects/)
  expect((await fencedFetch(PROOF, circle, { redirect: 'manual' })).status).toBe(307)
})

test('a stream is sent once', async () => {
  const stream = new Blob(['n=1']).stream()
  const init = { method: 'PUT', body: stream, duplex: 'half' as const }
  await expect(fencedFetch(PROOF, `${here}/307/end`, init)).rejects.toThrow(/can be sent only once/)
})
