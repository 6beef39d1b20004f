/** The ensemble as one client sees it: which server to try next, and when. */
import { UsageError } from '../../contract/errors.ts'
import { backoffMs } from '../../stores/shared/backoff.ts'

export interface ServerAddress {
  readonly host: string
  readonly port: number
}

const DEFAULT_PORT = 2_181
const FIRST_BACKOFF_MS = 50

export function parseAddress(server: string): ServerAddress {
  const match = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s:/[\]]+))(?::(\d{1,5}))?$/.exec(server)
  const host = match?.[1] ?? match?.[2]
  const port = match?.[3] === undefined ? DEFAULT_PORT : Number(match[3])
  if (host === undefined || port < 1 || port > 65_535) {
    throw new UsageError(`a server must be host, host:port or [v6]:port, given was ${JSON.stringify(server)}`)
  }
  return { host, port }
}

export function describeAddress(address: ServerAddress): string {
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
}

export class Servers {
  readonly #addresses: readonly ServerAddress[]
  readonly #random: () => number
  #at = 0
  #failures = 0

  constructor(servers: readonly string[], random: () => number) {
    if (servers.length === 0) throw new UsageError('servers must name at least one server')
    const addresses = servers.map(parseAddress)
    // Shuffled, so that the clients of one configuration spread over the ensemble.
    for (let i = addresses.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1))
      const [a, b] = [addresses[i] as ServerAddress, addresses[j] as ServerAddress]
      addresses[i] = b
      addresses[j] = a
    }
    this.#addresses = addresses
    this.#random = random
  }

  get count(): number {
    return this.#addresses.length
  }

  next(): ServerAddress {
    const address = this.#addresses[this.#at % this.count] as ServerAddress
    this.#at++
    return address
  }

  /** The last link worked for a while: the next failure counts as the first again. */
  proven(): void {
    this.#failures = 0
  }

  /**
   * A link failed. Returns how long to wait before the next try: not at all until each server had its turn, then longer
   * each round.
   */
  failed(capMs: number): number {
    this.#failures++
    if (this.#failures % this.count !== 0) return 0
    const round = this.#failures / this.count
    const range = { backoffMinMs: FIRST_BACKOFF_MS, backoffMaxMs: capMs }
    return backoffMs(round - 1, range, this.#random(), 0.5)
  }
}
