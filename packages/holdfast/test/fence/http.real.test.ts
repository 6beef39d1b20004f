import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { StoreUnreachableError } from '../../src/contract/errors.ts'
import { cellMemory, fencedFetch, fenceHeaders, type Proof } from '../../src/fence/index.ts'
import { holdfast } from '../../src/index.ts'
import { pausedHolder } from './paused.ts'
import { type Framework, serve, type Service } from './services.ts'
import { openTarget } from './target.ts'
import { tellsTokensApart } from './tokens.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-fence-'))
const store = `sqlite:${join(folder, 'locks.db')}`
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const proof = (token: bigint): Proof => ({ line: 'l', token, place: '0123456789abcdef' })
const put = (service: Service, token: bigint, n: number): Promise<Response> =>
  fencedFetch(proof(token), service.url, { method: 'PUT', body: String(n) })

describe.each<Framework>(['node:http', 'Express', 'Fastify', 'fetch'])('with %s', (framework) => {
  test('a paused holder is refused, and nothing is lost', async () => {
    const service = await serve(framework)
    const outcome = await pausedHolder({ kind: 'http', target: service.url, store, ttlMs: 1_000 })
    expect(outcome).toMatchObject({ code: 'HF_STALE_TOKEN' })
    expect(service.n).toBe(4)
  })

  test('tokens above 2^53 are told apart', async () => {
    const service = await serve(framework)
    const target = await openTarget('http', service.url)
    await tellsTokensApart(target.check)
  })

  test('the refusal is a problem document', async () => {
    const service = await serve(framework)
    await put(service, 6n, 1)
    const headers = fenceHeaders(proof(5n))
    const stale = await fetch(service.url, { method: 'PUT', body: '2', headers })
    expect(stale.status).toBe(409)
    expect(stale.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(await stale.json()).toEqual({
      type: 'urn:holdfast:stale-token',
      title: 'Stale fencing token',
      status: 409,
      detail: '"stock": token 5 of lock "l" is stale: 6 was seen',
      given: '5',
      newest: '6',
    })
    const missing = await fetch(service.url)
    expect([missing.status, await missing.json()]).toMatchObject([428, { type: 'urn:holdfast:token-required' }])
    for (const value of [
      '',
      '5',
      '5; place=x; line=l',
      '0; place=0123456789abcdef; line=l',
      `9${'0'.repeat(18)}5; place=0123456789abcdef; line=l`,
    ]) {
      const malformed = await fetch(service.url, { headers: { 'Holdfast-Token': value } })
      expect([malformed.status, await malformed.json()]).toMatchObject([400, { type: 'urn:holdfast:malformed-token' }])
    }
    expect(service.n).toBe(1)
    const open = await serve(framework, { required: false })
    expect((await fetch(open.url, { method: 'PUT', body: '3' })).status).toBe(200)
  })

  test('a slow request of an old holder ends before that of a newer one begins', async () => {
    const service = await serve(framework)
    let goOn = (): void => {}
    const begun = new Promise<void>((resolve) => {
      service.beforeWrite = () => {
        resolve()
        return new Promise((go) => {
          goOn = go
        })
      }
    })
    const slow = put(service, 5n, 5)
    await begun
    service.beforeWrite = () => undefined
    const newer = put(service, 6n, 6)
    // The newer one counts from now on, although it waits.
    await untilStale(service, 5n)
    expect(service.n).toBe(0)
    goOn()
    expect((await slow).status).toBe(200)
    expect(await (await newer).text()).toBe('6')
    expect(service.n).toBe(6)
  })

  test('a shared memory is asked as well, and outlives the process', async () => {
    await using hf = await holdfast(store)
    const memory = cellMemory(hf)
    const [first, second] = [await serve(framework, { memory }), await serve(framework, { memory })]
    const token = BigInt(Date.now())
    await put(first, token, 1)
    await put(first, token, 2)
    await expectStale(put(second, token - 1n, 3), token)
    expect([first.n, second.n]).toEqual([2, 0])
    await put(second, token + 1n, 4)
    await expectStale(put(first, token, 5), token + 1n)
    const broken = await serve(framework, { memory: () => Promise.reject(new StoreUnreachableError('down')) })
    expect((await put(broken, 5n, 1)).status).toBe(503)
    expect(broken.n).toBe(0)
  })
})

test('a client that goes away while it waits for its turn leaves no turn behind', async () => {
  const service = await serve('Express')
  let goOn = (): void => {}
  const begun = new Promise<void>((resolve) => {
    service.beforeWrite = () => {
      resolve()
      return new Promise((go) => {
        goOn = go
      })
    }
  })
  const slow = put(service, 5n, 5)
  await begun
  service.beforeWrite = () => undefined
  const gone = httpRequest(service.url, { method: 'PUT', headers: fenceHeaders(proof(6n)) })
  gone.on('error', () => undefined)
  gone.end('6')
  await untilStale(service, 5n)
  const closed = new Promise((resolve) => gone.once('close', resolve))
  gone.destroy()
  await closed
  goOn()
  await slow
  expect(await (await put(service, 7n, 7)).text()).toBe('7')
})

/** The newer token has arrived when the older one is refused. */
async function untilStale(service: Service, token: bigint): Promise<void> {
  const end = performance.now() + 30_000
  while (performance.now() < end) {
    const response = await fetch(service.url, { headers: fenceHeaders(proof(token)) })
    if (response.status === 409) return
  }
  throw new Error('the newer token did not arrive')
}

async function expectStale(asked: Promise<unknown>, newest: bigint): Promise<void> {
  await expect(asked).rejects.toMatchObject({ code: 'HF_STALE_TOKEN', newest })
}
