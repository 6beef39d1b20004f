/** Serves the built site on loopback. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

export interface Served extends AsyncDisposable {
  readonly url: string
}

/** On this port, or on a free one (0). */
export async function serve(folder: string, port = 0): Promise<Served> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site')
    const path = normalize(decodeURIComponent(pathname))
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path)
    readFile(file).then(
      (content) => response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(content),
      () => response.writeHead(404, { 'content-type': 'text/plain' }).end('There is no such page.'),
    )
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    },
  }
}
