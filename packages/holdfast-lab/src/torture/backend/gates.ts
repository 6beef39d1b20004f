/** Ways in through proxies of our own, one for each server and client. */
import { type FaultProxy, faultProxy } from '../../testbed/proxy.ts'
import type { Gate } from './backend.ts'

/** A server, or the front of several servers. */
interface Listener {
  readonly port: number
}

export class Gates {
  readonly #servers: readonly Listener[]
  readonly #named: readonly Listener[]
  readonly #url: (addresses: string) => string
  readonly #proxies: FaultProxy[] = []

  /**
   * `url` makes a store URL of `host:port,host:port`. `told`: servers that clients are told of by the others, as Redis
   * does.
   */
  constructor(servers: readonly Listener[], url: (addresses: string) => string, told: readonly Listener[] = []) {
    this.#servers = [...servers, ...told.filter((server) => !servers.includes(server))]
    this.#named = servers
    this.#url = url
  }

  async open(): Promise<Gate> {
    const ports = new Map<string, string>()
    const translate = (bytes: Buffer): Buffer => translated(bytes, ports)
    const proxies = await Promise.all(this.#servers.map(({ port }) => faultProxy({ port, translate })))
    this.#proxies.push(...proxies)
    for (const [at, { port }] of this.#servers.entries()) ports.set(String(port), String(proxies[at]?.port))
    const named = proxies.slice(0, this.#named.length)
    return { url: this.#url(named.map(({ host, port }) => `${host}:${port}`).join(',')), proxies, cable: null }
  }

  async close(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.close()))
  }
}

/**
 * Where a server tells a client of another, by a bulk string (Sentinel), an integer (CLUSTER SLOTS) or an error
 * (MOVED), it must name the proxy: else the client goes there directly, and can't be cut off. All ports have five
 * digits, so that no length changes.
 */
export function translated(bytes: Buffer, ports: ReadonlyMap<string, string>): Buffer {
  const text = bytes.toString('latin1')
  const changed = text.replace(/(\$5\r\n|:)(\d{5})(?=\r\n)/g, (_, before: string, port: string) => {
    return `${before}${ports.get(port) ?? port}`
  })
  return changed === text ? bytes : Buffer.from(changed, 'latin1')
}
