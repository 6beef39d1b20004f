/** What the console's tests need: a console that listens on loopback, and a browser. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Holdfast, holdfast } from 'holdfast'
import { type Browser, chromium } from 'playwright-core'
import { look } from '../../holdfast-lab/src/testbed/find.ts'
import { requireTools } from '../../holdfast-lab/src/testbed/require.ts'
import { type AuditLine, type ConsoleOptions, lockConsole } from '../src/index.ts'

export const TOKEN = 'a-token-for-tests-0123456789'

export interface Site extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly hf: Holdfast
  readonly audit: AuditLine[]
}

/** A console of this store that can break locks, on a free port. */
export async function site(store: string, options: ConsoleOptions = {}): Promise<Site> {
  const hf = await holdfast(store)
  const audit: AuditLine[] = []
  const allowBreak = { token: TOKEN, audit: (line: AuditLine) => void audit.push(line) }
  const page = lockConsole(hf, { store, pollMs: 250, allowBreak, ...options })
  const server = await serve(page)
  return {
    ...server,
    hf,
    audit,
    [Symbol.asyncDispose]: async () => {
      page.close()
      await server.close()
      await hf.close()
    },
  }
}

export async function serve(
  listener: RequestListener,
): Promise<{ readonly url: string; readonly port: number; readonly close: () => Promise<void> }> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { url: `http://127.0.0.1:${port}/`, port, close }
}

export async function browser(): Promise<Browser> {
  await requireTools(['browser'])
  const executablePath = (await look('browser'))?.get('chromium-headless-shell') ?? ''
  // Root has no sandbox in containers; the page is our own.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
}
