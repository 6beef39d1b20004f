/** Follows redirects so that a header for one service does not reach another: fetch itself carries it anywhere. */

const REDIRECTS_MAX = 20
const STATUSES = [301, 302, 303, 307, 308]
/** Headers that fetch does not carry to another origin either. */
const CREDENTIALS = ['authorization', 'cookie', 'proxy-authorization', 'host']
/** Headers that describe a body, and make no sense without one. */
const OF_BODY = ['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']

/** `fetch`, but a redirect to another origin goes there without the header `name`. */
export async function fetchAt(input: string | URL | Request, init: RequestInit, name: string): Promise<Response> {
  const given = input instanceof Request ? input : null
  if ((init.redirect ?? given?.redirect ?? 'follow') !== 'follow') return fetch(input, init)
  // A body can be read once. A body given as a value can be sent again, and so can the body of a Request, as a copy.
  const spare = given === null || given.body === null || (init.body ?? null) !== null ? null : given.clone()
  const headers = new Headers(init.headers)
  let response = await fetch(input, { ...init, redirect: 'manual' })
  let url = new URL(input instanceof Request ? input.url : input)
  let method = (init.method ?? given?.method ?? 'GET').toUpperCase()
  let body: RequestInit['body'] = init.body ?? null
  for (let count = 1; ; count++) {
    const location = STATUSES.includes(response.status) ? response.headers.get('location') : null
    if (location === null) break
    await response.body?.cancel()
    if (count === 1 && spare !== null) body = await spare.arrayBuffer()
    if (count > REDIRECTS_MAX) throw new TypeError(`fetch failed: more than ${REDIRECTS_MAX} redirects`)
    const next = new URL(location, url)
    if (next.origin !== url.origin) for (const each of [name, ...CREDENTIALS]) headers.delete(each)
    if (turnsToGet(response.status, method)) {
      method = 'GET'
      body = null
      for (const each of OF_BODY) headers.delete(each)
    }
    if (init.body instanceof ReadableStream && body !== null) {
      throw new TypeError('fetch failed: the request was redirected, and a stream can be sent only once')
    }
    url = next
    const signal = init.signal ?? given?.signal ?? null
    response = await fetch(url, { ...init, method, headers, body, signal, redirect: 'manual' })
  }
  if (spare?.bodyUsed === false) await spare.body?.cancel()
  return response
}

function turnsToGet(status: number, method: string): boolean {
  return status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST'
}
