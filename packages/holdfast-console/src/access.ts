/**
 * Who may ask what. A page of another site can make a browser send requests to loopback, and the owner of a name can
 * point the name to 127.0.0.1 (DNS rebinding). So the console answers only under listed names, a request whose origin
 * is not the console is refused, and there is no cookie that a browser could send along by itself.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Why a request is refused. */
export interface Refusal {
  readonly status: number
  readonly error: string
}

/** The name without a port, in lower case; IPv6 in brackets. '' if there is no valid name. */
export function hostnameOf(host: string | undefined): string {
  return /^(\[[0-9a-f:.]+\]|[^:/@\s[\]]+)(:\d{1,5})?$/i.exec(host ?? '')?.[1]?.toLowerCase() ?? ''
}

export function refuseForeign(req: IncomingMessage, hosts: readonly string[], isPage: boolean): Refusal | null {
  const { host, origin } = req.headers
  const site = req.headers['sec-fetch-site']
  if (!hosts.includes(hostnameOf(host))) {
    return {
      status: 421,
      error: 'This console does not answer under that name. Start it with --hosts NAME to allow it.',
    }
  }
  if (origin !== undefined && hostOf(origin) !== host?.toLowerCase()) {
    return { status: 403, error: 'The request comes from another site.' }
  }
  // Any site may link to the page, but only the page itself may ask for its data.
  if (!isPage && site !== undefined && site !== 'same-origin' && site !== 'none') {
    return { status: 403, error: 'The request comes from another site.' }
  }
  return null
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}

/** Whether the request carries this token. */
export function carries(req: IncomingMessage, token: string): boolean {
  const given = /^Bearer ([\x21-\x7e]+)$/.exec(req.headers.authorization ?? '')?.[1] ?? ''
  return timingSafeEqual(digest(given), digest(token))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
