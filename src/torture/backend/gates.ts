/** Ways in through proxies of our own, one for each server and client. */
import { type FaultProxy, faultProxy } from '../../testbed/proxy.ts'
import type { Server } from '../../testbed/server.ts'
import type { Gate } from './backend.ts'

export class Gates {
  readonly #servers: readonly Server[]
  readonly #url: (addresses: string) => string
  readonly #proxies: FaultProxy[] = []

  /** `url` makes a store URL of `host:port,host:port`. */
  constructor(servers: readonly Server[], url: (addresses: string) => string) {
    this.#servers = servers
    this.#url = url
  }

  async open(): Promise<Gate> {
    const proxies = await Promise.all(this.#servers.map(({ port }) => faultProxy({ port })))
    this.#proxies.push(...proxies)
    return { url: this.#url(proxies.map(({ host, port }) => `${host}:${port}`).join(',')), proxies }
  }

  async close(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.close()))
  }
}
