/**
 * A TCP proxy between clients and one server that can misbehave: delay, black holes, resets, refusals, lost replies.
 */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { UsageError } from 'holdfast'
import { Link, type LinkFaults, type Verdict } from './link.ts'
import type { Flow } from './pipe.ts'
import { freePort } from './port.ts'

/** What to break; a member that is left out stays as it was. */
export interface Faults {
  /**
   * Client to server: 'pass' (default), 'hold' until healed, or 'drop' for good; a connection that lost bytes is reset
   * on heal.
   */
  readonly toServer?: Flow
  /** Server to client: as above. */
  readonly toClient?: Flow
  /** Delay of every chunk, in order, 0 (default) … 600 000; one number is for both directions. */
  readonly delayMs?: number | { readonly toServer?: number; readonly toClient?: number }
  /** Whether new connections are accepted (default true); false: they are refused. */
  readonly accept?: boolean
}

/** What has gone through since the start. */
export interface ProxyCounts {
  /** Connections accepted, ever. */
  readonly connections: number
  /** Connections open now, at either end. */
  readonly open: number
  readonly toServerBytes: number
  readonly toClientBytes: number
  /** Bytes queued now, by delay or hold. */
  readonly heldBytes: number
  readonly droppedBytes: number
}

export interface FaultProxy {
  readonly host: string
  readonly port: number
  readonly counts: ProxyCounts
  /** Applies faults to open and future connections; resolves once they are in force. */
  set(faults: Faults): Promise<void>
  /** Ends all faults; held bytes go out, and connections that lost bytes are reset. */
  heal(): Promise<void>
  /** Resets every open connection at both ends. */
  reset(): void
  /**
   * Forwards the next chunk to the server (the next that `match` accepts), waits for the server's answer, discards it
   * and resets the client: the request took effect, the client can't know. True once done; false if healed or closed
   * first.
   */
  loseNextReply(o?: { readonly match?: (bytes: Buffer) => boolean }): Promise<boolean>
  /**
   * Lets exactly `bytes` more bytes go that way, over all connections, then cuts the connection in mid-chunk. True once
   * done; false if healed or closed first.
   */
  cutAfter(way: 'toServer' | 'toClient', bytes: number): Promise<boolean>
  /** Stops listening and resets every connection. Idempotent. */
  close(): Promise<void>
}

const HOST = '127.0.0.1'
const HEALTHY: LinkFaults = { toServer: 'pass', toClient: 'pass', toServerDelayMs: 0, toClientDelayMs: 0 }
const GO_ON = { act: 'go on' } as const

/** What is behind a proxy. */
export interface Upstream {
  /** Default 127.0.0.1. */
  readonly host?: string
  readonly port: number
  /** What the client gets for these bytes of the server, chunk by chunk; default: the same. */
  readonly translate?: (bytes: Buffer) => Buffer
}

/** Starts a proxy on a free loopback port in front of `upstream`. */
export async function faultProxy(upstream: Upstream): Promise<FaultProxy> {
  const proxy = new Proxying({ host: HOST, translate: (bytes) => bytes, ...upstream }, await freePort())
  await proxy.set({ accept: true })
  return proxy
}

interface Trap {
  readonly way: 'toServer' | 'toClient'
  readonly verdict: (bytes: Buffer) => Verdict
  readonly sprung: (done: boolean) => void
}

class Proxying implements FaultProxy {
  readonly host = HOST
  readonly port: number
  readonly #upstream: Required<Upstream>
  readonly #links = new Set<Link>()
  #faults: LinkFaults = HEALTHY
  #listener: Server | undefined
  #traps: Trap[] = []
  #connections = 0
  #bytes = { toServer: 0, toClient: 0 }
  #droppedBytes = 0
  #closed = false
  #turn: Promise<void> = Promise.resolve()

  constructor(upstream: Required<Upstream>, port: number) {
    this.#upstream = upstream
    this.port = port
  }

  get counts(): ProxyCounts {
    let heldBytes = 0
    let droppedBytes = this.#droppedBytes
    for (const link of this.#links) {
      heldBytes += link.heldBytes
      droppedBytes += link.droppedBytes
    }
    return {
      connections: this.#connections,
      open: this.#links.size,
      toServerBytes: this.#bytes.toServer,
      toClientBytes: this.#bytes.toClient,
      heldBytes,
      droppedBytes,
    }
  }

  async set(faults: Faults): Promise<void> {
    if (this.#closed) throw new UsageError('the fault proxy is closed')
    this.#faults = merged(this.#faults, faults)
    for (const link of this.#links) link.set(this.#faults)
    const accept = faults.accept
    if (accept !== undefined) await this.#inTurn(() => (accept ? this.#listen() : this.#refuse()))
  }

  heal(): Promise<void> {
    this.#disarm()
    return this.set({ toServer: 'pass', toClient: 'pass', delayMs: 0, accept: true })
  }

  reset(): void {
    for (const link of this.#links) link.reset()
  }

  loseNextReply(o: { readonly match?: (bytes: Buffer) => boolean } = {}): Promise<boolean> {
    const match = o.match ?? (() => true)
    return this.#arm('toServer', (bytes) => {
      return match(bytes) ? { bytes: bytes.length, act: 'lose the reply' } : { bytes: bytes.length, ...GO_ON }
    })
  }

  cutAfter(way: 'toServer' | 'toClient', bytes: number): Promise<boolean> {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new UsageError(`cutAfter: ${bytes} is not a number of bytes`)
    let left = bytes
    return this.#arm(way, (chunk) => {
      if (chunk.length < left) {
        left -= chunk.length
        return { bytes: chunk.length, ...GO_ON }
      }
      return { bytes: left, act: 'cut' }
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#disarm()
    await this.#inTurn(() => this.#refuse())
    this.reset()
  }

  #arm(way: Trap['way'], verdict: Trap['verdict']): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false)
    return new Promise((resolve) => {
      this.#traps.push({ way, verdict, sprung: resolve })
    })
  }

  #disarm(): void {
    for (const trap of this.#traps) trap.sprung(false)
    this.#traps = []
  }

  /** Listening and refusing are asynchronous, so two changes at once are carried out one after the other. */
  #inTurn(change: () => Promise<void> | void): Promise<void> {
    const turn = this.#turn.then(change)
    // The caller gets the outcome; the next change only waits for its end.
    const ended = (): void => {}
    this.#turn = turn.then(ended, ended)
    return turn
  }

  async #listen(): Promise<void> {
    if (this.#listener !== undefined || this.#closed) return
    const listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client))
    listener.listen({ host: HOST, port: this.port, exclusive: true })
    await once(listener, 'listening')
    // An accept failed (too many open files): that client was turned away, the others go on.
    listener.on('error', () => undefined)
    this.#listener = listener
  }

  /** Closes the listening socket, so that the kernel itself refuses; open connections go on. */
  #refuse(): void {
    const listener = this.#listener
    this.#listener = undefined
    // Its callback would wait for the open connections; the listening socket itself is closed at once.
    listener?.close()
  }

  #accept(client: Socket): void {
    this.#connections += 1
    let trap: Trap | undefined
    const { host, port, translate } = this.#upstream
    const link = new Link(client, { host, port }, this.#faults, {
      translate,
      judge: (way, bytes) => {
        const first = this.#traps.find((candidate) => candidate.way === way)
        const verdict = first?.verdict(bytes) ?? { bytes: bytes.length, ...GO_ON }
        if (first === undefined || verdict.act === 'go on') return verdict
        this.#traps = this.#traps.filter((candidate) => candidate !== first)
        if (verdict.act === 'cut') first.sprung(true)
        else trap = first
        return verdict
      },
      forwarded: (way, bytes) => {
        this.#bytes[way] += bytes
      },
      replyLost: () => trap?.sprung(true),
      closed: (closed) => {
        this.#links.delete(closed)
        this.#droppedBytes += closed.droppedBytes
        trap?.sprung(false)
      },
    })
    this.#links.add(link)
  }
}

function merged(before: LinkFaults, faults: Faults): LinkFaults {
  const delay = typeof faults.delayMs === 'number' ? both(faults.delayMs) : (faults.delayMs ?? {})
  return {
    toServer: flow('toServer', faults.toServer ?? before.toServer),
    toClient: flow('toClient', faults.toClient ?? before.toClient),
    toServerDelayMs: delayOf(delay.toServer ?? before.toServerDelayMs),
    toClientDelayMs: delayOf(delay.toClient ?? before.toClientDelayMs),
  }
}

function both(delayMs: number): { readonly toServer: number; readonly toClient: number } {
  return { toServer: delayMs, toClient: delayMs }
}

function flow(name: string, value: Flow): Flow {
  if (value === 'pass' || value === 'hold' || value === 'drop') return value
  throw new UsageError(`fault proxy: ${name} is ${JSON.stringify(value)}; it can be 'pass', 'hold' or 'drop'`)
}

function delayOf(value: number): number {
  if (value >= 0 && value <= 600_000) return value
  throw new UsageError(`fault proxy: delayMs is ${value}; it can be 0 to 600000`)
}
