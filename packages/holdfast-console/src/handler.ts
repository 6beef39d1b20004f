/** The console as a request handler `(req, res)` of node:http: for a server of its own, or inside an application. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Holdfast } from 'holdfast'
import { carries, type Refusal, refuseForeign } from './access.ts'
import { type Asset, loadAssets } from './assets.ts'
import { breakLock } from './breaking.ts'
import { Feed } from './feed.ts'
import { Observer } from './observer.ts'
import { type ConsoleOptions, type ConsoleSettings, resolveConsole } from './options.ts'

/** A console that observes a store. Call it with each request below its path. */
export interface LockConsole {
  (req: IncomingMessage, res: ServerResponse): void
  /** Ends the observation and all streams. The instance of Holdfast stays open. */
  close(): void
}

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Observes this store from now on, and shows it. Read-only unless `allowBreak` is given. */
export function lockConsole(hf: Holdfast, options?: ConsoleOptions): LockConsole {
  const settings = resolveConsole(options)
  const assets = loadAssets()
  const observer: Observer = new Observer(hf, settings, (look) => feed.tell(look))
  const feed = new Feed(() => observer.all())
  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value)
    answer(req, res, { hf, settings, assets, observer, feed }).catch((error: unknown) => {
      if (res.headersSent) res.destroy()
      else sendJson(res, 500, { error: error instanceof Error ? error.message : String(error) })
    })
  }
  const close = (): void => {
    observer.close()
    feed.close()
  }
  return Object.assign(handle, { close })
}

interface Parts {
  readonly hf: Holdfast
  readonly settings: ConsoleSettings
  readonly assets: ReadonlyMap<string, Asset>
  readonly observer: Observer
  readonly feed: Feed
}

async function answer(req: IncomingMessage, res: ServerResponse, parts: Parts): Promise<void> {
  const { settings, assets, observer, feed } = parts
  // Anybody may send what is no address, such as `//`: there is nothing.
  const url = URL.canParse(req.url ?? '', 'http://console') ? new URL(req.url ?? '', 'http://console') : null
  const path = url === null ? null : pathBelow(url.pathname, settings.path)
  const asset = path === null ? undefined : assets.get(path === '' ? 'index.html' : path)
  const foreign = refuseForeign(req, settings.hosts, asset !== undefined)
  if (foreign !== null) return refuse(res, foreign)
  if (asset !== undefined) return sendAsset(req, res, asset, path)
  const methods: Readonly<Record<string, string>> = { 'api/stream': 'GET', 'api/lock': 'GET', 'api/break': 'POST' }
  const method = path !== null && Object.hasOwn(methods, path) ? methods[path] : undefined
  if (method === undefined) return refuse(res, { status: 404, error: 'There is nothing here.' })
  if (req.method !== method) {
    res.setHeader('allow', method)
    return refuse(res, { status: 405, error: `Only ${method}.` })
  }
  if (path === 'api/break') {
    const result = await breakLock(req, parts.hf, observer, settings)
    return 'broken' in result ? sendJson(res, 200, result) : refuse(res, result)
  }
  if (settings.readToken !== null && !carries(req, settings.readToken)) {
    return refuse(res, { status: 401, error: 'This console asks for its token.' })
  }
  if (path === 'api/lock') return sendJson(res, 200, observer.detail(url?.searchParams.get('name') ?? ''))
  if (!feed.add(res)) refuse(res, { status: 503, error: 'Too many pages are open.' })
}

/** What follows the path where the console is mounted; null: the request is not below that path. */
function pathBelow(pathname: string, mounted: string): string | null {
  if (pathname.startsWith(mounted)) return pathname.slice(mounted.length)
  return `${pathname}/` === mounted ? '' : null
}

function sendAsset(req: IncomingMessage, res: ServerResponse, { type, body }: Asset, path: string | null): void {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('allow', 'GET, HEAD')
    return refuse(res, { status: 405, error: 'Only GET.' })
  }
  // Express keeps the full URL here before it strips the path. The page asks for its parts by relative addresses.
  const { pathname } = new URL((req as { originalUrl?: string }).originalUrl ?? req.url ?? '/', 'http://console')
  if (path === '' && !pathname.endsWith('/')) {
    res.writeHead(308, { location: `./${pathname.split('/').at(-1)}/` }).end()
    return
  }
  res.writeHead(200, { 'content-type': type, 'content-length': body.length })
  res.end(req.method === 'HEAD' ? undefined : body)
}

function refuse(res: ServerResponse, { status, error }: Refusal): void {
  sendJson(res, status, { error })
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value))
}
