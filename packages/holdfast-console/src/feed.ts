/**
 * Server-sent events: a new page gets everything, and then what has changed. A page that is too slow gets everything
 * again.
 */
import type { ServerResponse } from 'node:http'
import type { Look } from './observer.ts'

const PAGES_MAX = 64
/** So that proxies keep the connection, and the page knows that the console lives. */
const BEAT_MS = 10_000

export class Feed {
  readonly #pages = new Map<ServerResponse, { isBehind: boolean }>()
  readonly #all: () => Look
  readonly #beat: NodeJS.Timeout

  constructor(all: () => Look) {
    this.#all = all
    this.#beat = setInterval(() => {
      for (const [res, { isBehind }] of this.#pages) if (!isBehind) res.write(': here\n\n')
    }, BEAT_MS)
    this.#beat.unref()
  }

  /** False: there are too many pages. */
  add(res: ServerResponse): boolean {
    if (this.#pages.size >= PAGES_MAX) return false
    const page = { isBehind: false }
    this.#pages.set(res, page)
    res.on('close', () => this.#pages.delete(res))
    // A browser that disconnects while we write causes an error; 'close' follows.
    res.on('error', () => this.#pages.delete(res))
    res.on('drain', () => {
      if (!page.isBehind) return
      page.isBehind = false
      this.#write(res, page, message('all', this.#all()))
    })
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
    this.#write(res, page, message('all', this.#all()))
    return true
  }

  tell(look: Look): void {
    if (this.#pages.size === 0) return
    const text = message('change', look)
    for (const [res, page] of this.#pages) {
      // The page has not taken the last message yet. As soon as it listens again, it gets everything.
      if (res.writableNeedDrain) page.isBehind = true
      else if (!page.isBehind) this.#write(res, page, text)
    }
  }

  close(): void {
    clearInterval(this.#beat)
    for (const res of this.#pages.keys()) res.end()
    this.#pages.clear()
  }

  #write(res: ServerResponse, page: { isBehind: boolean }, text: string): void {
    if (!res.destroyed) res.write(text)
    else page.isBehind = true
  }
}

/** The rows are JSON already. */
function message(event: 'all' | 'change', { head, rows, gone }: Look): string {
  const start = JSON.stringify({ ...head, gone }).slice(0, -1)
  return `event: ${event}\ndata: ${start},"rows":[${rows.join(',')}]}\n\n`
}
