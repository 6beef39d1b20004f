/**
 * Wake-ups between processes: a unix socket for each process, in a folder beside the file. A process that grants a
 * place writes to the socket of the place's process. A waiter's process keeps connections to those ahead, and the
 * kernel closes such a connection when the other process dies.
 */
import { randomBytes } from 'node:crypto'
import { createServer, connect as netConnect, type Server, type Socket } from 'node:net'
import { WakeupFolder } from './wakeups-folder.ts'

export interface WakeupSocketsListener {
  /** A message from another process, as it came. */
  rung(message: string): void
  /** The connection to this process is gone: it has died, or closed the store. */
  gone(key: number): void
}

interface Peer {
  /** null: there was no socket to connect to. */
  readonly socket: Socket | null
  usedAt: number
  /** True: closed by the other side. Names are never used again, so trying again would be in vain. */
  isGone: boolean
}

const IDLE_MS = 10_000
const FLUSH_MS = 200
/** A message names one place. A sender that sends more than this without an end is not one of ours. */
const MESSAGE_BYTES_MAX = 4_096

export class WakeupSockets {
  /** The name of the socket; '' if none could be made, and others must wait for their next look. */
  readonly name: string
  readonly #folder: WakeupFolder | null
  readonly #server: Server | null
  readonly #listener: WakeupSocketsListener
  readonly #now: () => number
  readonly #peers = new Map<number, Peer>()
  readonly #callers = new Set<Socket>()

  private constructor(
    folder: WakeupFolder | null,
    server: Server | null,
    name: string,
    listener: WakeupSocketsListener,
    now: () => number,
  ) {
    this.#folder = folder
    this.#server = server
    this.name = server === null ? '' : name
    this.#listener = listener
    this.#now = now
    server?.on('connection', (socket) => this.#answer(socket))
  }

  /**
   * @param file the lock file, by the path that all its users share.
   */
  static async open(file: string, listener: WakeupSocketsListener, now: () => number): Promise<WakeupSockets> {
    const folder = WakeupFolder.open(file)
    // The name is never used again, so the socket of a dead process can be removed by its name alone.
    const name = randomBytes(6).toString('hex')
    const server = folder === null ? null : await listen(folder.place(name))
    if (server !== null) folder?.admit(name)
    return new WakeupSockets(folder, server, name, listener, now)
  }

  /** Sends a message to a process. Best effort: a lost message costs a look. */
  ring(key: number, socketName: string, message: string): void {
    const peer = this.attend(key, socketName)
    if (peer !== null && !peer.isGone) peer.socket?.write(`${message}\n`)
  }

  /** Keeps a connection to a process, in order to notice its death. */
  attend(key: number, socketName: string): Peer | null {
    if (socketName === '') return null
    const peer = this.#peers.get(key) ?? this.#connect(key, socketName)
    peer.usedAt = this.#now()
    return peer
  }

  /** Closes connections that have been of no use for a while. */
  tidy(): void {
    const idleSince = this.#now() - IDLE_MS
    for (const [key, peer] of this.#peers) {
      if (peer.usedAt >= idleSince) continue
      this.#peers.delete(key)
      peer.socket?.destroy()
    }
  }

  /** Removes the socket that a dead process has left. */
  remove(socketName: string): void {
    this.#folder?.remove(socketName)
  }

  /** Removes the sockets of dead processes that are not in the file any more. */
  sweep(claimed: ReadonlySet<string>): void {
    if (this.name !== '') this.#folder?.sweep(this.name, claimed)
  }

  /** Sends what is still to be sent, and takes the socket down. */
  async close(): Promise<void> {
    const sockets = [...this.#peers.values()].flatMap(({ socket }) => (socket === null ? [] : [socket]))
    this.#peers.clear()
    await Promise.all(sockets.map(flush))
    for (const socket of this.#callers) socket.destroy()
    if (this.#server !== null) await new Promise((resolve) => this.#server?.close(resolve))
    this.#folder?.close()
  }

  #connect(key: number, socketName: string): Peer {
    // The kernel is called before connect() returns, so the path need not last any longer.
    const socket = this.#folder?.reach(socketName, (path) => netConnect({ path })) ?? null
    const peer: Peer = { socket, usedAt: 0, isGone: false }
    this.#peers.set(key, peer)
    const gone = (): void => {
      if (this.#peers.get(key) !== peer) return
      peer.isGone = true
      this.#listener.gone(key)
    }
    socket?.unref()
    // 'close' follows every 'error', and says all there is to say.
    socket?.on('error', () => undefined)
    socket?.on('close', gone)
    if (socket === null) setImmediate(gone)
    return peer
  }

  #answer(socket: Socket): void {
    socket.unref()
    socket.setEncoding('utf8')
    this.#callers.add(socket)
    let rest = ''
    socket.on('data', (chunk: string) => {
      const messages = (rest + chunk).split('\n')
      rest = messages.pop() ?? ''
      if (rest.length > MESSAGE_BYTES_MAX) socket.destroy()
      for (const message of messages) this.#listener.rung(message)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#callers.delete(socket))
  }
}

/** null: this file system has no sockets, or the path is too long for one. The store works without, only slower. */
function listen(path: string): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.unref()
    server.once('error', () => resolve(null))
    // Exclusive: otherwise the primary of a cluster would listen for its worker, and nobody would notice the worker's
    // death.
    server.listen({ path, exclusive: true }, () => {
      server.removeAllListeners('error')
      server.on('error', () => undefined)
      resolve(server)
    })
  })
}

function flush(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), FLUSH_MS)
    socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    if (socket.destroyed) resolve()
    else socket.end(() => socket.destroy())
  })
}
