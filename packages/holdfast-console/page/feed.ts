/** Hears the server's events: by fetch instead of EventSource, which can't carry a token. */
import type { All, Changes } from '../src/wire.ts'

export type Link = 'connecting' | 'live' | 'gone' | 'locked'

export interface Hearer {
  all(message: All): void
  change(message: Changes): void
  link(link: Link): void
}

const AGAIN_MS = 1_000
/** The server says something every 10 s at least. */
const SILENCE_MS = 25_000
const TOKEN_KEY = 'holdfast-console-token'

/** The token for reading, for as long as the tab is open. */
export const readToken = {
  get: (): string => sessionStorage.getItem(TOKEN_KEY) ?? '',
  set: (token: string): void => sessionStorage.setItem(TOKEN_KEY, token),
}

export function authorized(): Record<string, string> {
  const token = readToken.get()
  return token === '' ? {} : { authorization: `Bearer ${token}` }
}

/** Listens for ever: also after the server was away. */
export async function hear(hearer: Hearer): Promise<never> {
  for (;;) {
    const link = await once(hearer)
    hearer.link(link)
    if (link === 'locked') await asked()
    else await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

let unlock = (): void => {}

/** Somebody has typed the token. */
export function tryToken(token: string): void {
  readToken.set(token)
  unlock()
}

function asked(): Promise<void> {
  return new Promise((resolve) => {
    unlock = resolve
  })
}

async function once(hearer: Hearer): Promise<Link> {
  const over = new AbortController()
  let watchdog = setTimeout(() => over.abort(), SILENCE_MS)
  try {
    const answer = await fetch('./api/stream', { headers: authorized(), signal: over.signal, cache: 'no-store' })
    if (answer.status === 401) return 'locked'
    if (!answer.ok || answer.body === null) return 'gone'
    hearer.link('live')
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return 'gone'
      clearTimeout(watchdog)
      watchdog = setTimeout(() => over.abort(), SILENCE_MS)
      // Only what is new can bring the end of a message.
      let from = Math.max(0, text.length - 1)
      text += value
      for (let end = text.indexOf('\n\n', from); end >= 0; end = text.indexOf('\n\n', from)) {
        tell(hearer, text.slice(0, end))
        text = text.slice(end + 2)
        from = 0
      }
    }
  } catch {
    return 'gone'
  } finally {
    clearTimeout(watchdog)
    over.abort()
  }
}

function tell(hearer: Hearer, message: string): void {
  const match = /^event: (all|change)\ndata: /.exec(message)
  if (match === null) return
  const data: unknown = JSON.parse(message.slice(match[0].length))
  if (match[1] === 'all') hearer.all(data as All)
  else hearer.change(data as Changes)
}
