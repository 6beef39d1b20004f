/**
 * The push between processes: a unix socket for each, in a folder beside the file. Whoever grants a place rings at its
 * process; whoever waits keeps a connection to those in front, and the kernel closes it when they die.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync } from 'node:fs'
import { createServer, connect as netConnect, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

export interface DoorbellListener {
  /** A message from another process, as it was rung. */
  rung(message: string): void
  /** The connection to this process is gone: it has died, or let go of the store. */
  gone(key: number): void
}

interface Peer {
  readonly socket: Socket
  usedAt: number
  /** Closed by the other side. Names are never used again, so that trying again would be in vain. */
  isGone: boolean
}

/** sun_path holds 108 bytes, the last of them zero. */
const PATH_BYTES_MAX = 107
const IDLE_MS = 10_000
const FLUSH_MS = 200
/** A message names one place; whoever sends more than this without an end is none of ours. */
const MESSAGE_BYTES_MAX = 4_096

export class Doorbell {
  /** The name of the socket; '' when none could be made, and others must wait for their next look. */
  readonly name: string
  readonly #folder: string
  readonly #server: Server | null
  readonly #folderFd: number | null
  readonly #listener: DoorbellListener
  readonly #now: () => number
  readonly #peers = new Map<number, Peer>()
  readonly #callers = new Set<Socket>()

  private constructor(
    folder: Folder,
    server: Server | null,
    name: string,
    listener: DoorbellListener,
    now: () => number,
  ) {
    this.#folder = folder.path
    this.#folderFd = folder.fd
    this.#server = server
    this.name = server === null ? '' : name
    this.#listener = listener
    this.#now = now
    server?.on('connection', (socket) => this.#answer(socket))
  }

  static async open(path: string, listener: DoorbellListener, now: () => number): Promise<Doorbell> {
    const folder = openFolder(path)
    // Never used again, so that the socket of a dead process can be removed by its name alone.
    const name = randomBytes(6).toString('hex')
    const server = await listen(join(folder.path, name))
    return new Doorbell(folder, server, name, listener, now)
  }

  /** Sends a message to a process. Best effort: a lost one costs a look. */
  ring(key: number, socketName: string, message: string): void {
    const peer = this.attend(key, socketName)
    if (peer !== null && !peer.isGone) peer.socket.write(`${message}\n`)
  }

  /** Keeps a connection to a process, so that its death is heard. */
  attend(key: number, socketName: string): Peer | null {
    if (socketName === '') return null
    let peer = this.#peers.get(key)
    if (peer === undefined) {
      const socket = netConnect({ path: join(this.#folder, socketName) })
      socket.unref()
      peer = { socket, usedAt: 0, isGone: false }
      this.#peers.set(key, peer)
      // 'close' follows every 'error', and says all there is to say.
      socket.on('error', () => undefined)
      socket.on('close', () => {
        const gone = this.#peers.get(key)
        if (gone?.socket !== socket) return
        gone.isGone = true
        this.#listener.gone(key)
      })
    }
    peer.usedAt = this.#now()
    return peer
  }

  /** Lets go of connections that have been of no use for a while. */
  tidy(): void {
    const idleSince = this.#now() - IDLE_MS
    for (const [key, peer] of this.#peers) {
      if (peer.usedAt >= idleSince) continue
      this.#peers.delete(key)
      peer.socket.destroy()
    }
  }

  /** Removes the socket that a dead process has left. */
  remove(socketName: string): void {
    rmSync(join(this.#folder, socketName), { force: true })
  }

  /** Sends what is still to be sent, and takes the socket down. */
  async close(): Promise<void> {
    const peers = [...this.#peers.values()]
    this.#peers.clear()
    await Promise.all(peers.map(({ socket }) => flush(socket)))
    for (const socket of this.#callers) socket.destroy()
    if (this.#server !== null) await new Promise((resolve) => this.#server?.close(resolve))
    if (this.#folderFd !== null) closeSync(this.#folderFd)
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

interface Folder {
  readonly path: string
  readonly fd: number | null
}

/** A path too long for a socket is reached through the folder's descriptor, which has a short name in /proc. */
function openFolder(path: string): Folder {
  if (Buffer.byteLength(join(path, '0'.repeat(12))) <= PATH_BYTES_MAX) return { path, fd: null }
  const fd = openSync(path, 'r')
  return { path: `/proc/self/fd/${fd}`, fd }
}

/** null: this file system has no sockets, or there is no /proc for a long path. The store works without, only slower. */
function listen(path: string): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.unref()
    server.once('error', () => resolve(null))
    // Exclusive: in a cluster's worker the primary would listen in its place, and its death would go unheard.
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
