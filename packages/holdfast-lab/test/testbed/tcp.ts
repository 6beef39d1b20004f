/** A plain echo server and a client that awaits bytes, for the tests of the fault proxy. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Echo {
  readonly port: number
  /** All bytes received so far, by all connections. */
  readonly received: () => string
  readonly open: () => number
  /** Resolves once `received()` satisfies the condition. */
  until(condition: () => boolean): Promise<void>
  close(): void
}

/** Echoes every byte; `greeting` is sent on connect. */
export async function echoServer(greeting = ''): Promise<Echo> {
  let received = ''
  const sockets = new Set<Socket>()
  const changed = new Set<() => void>()
  const change = (): void => {
    for (const wake of changed) wake()
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      change()
    })
    socket.on('data', (bytes) => {
      received += bytes.toString()
      socket.write(bytes)
      change()
    })
    if (greeting !== '') socket.write(greeting)
    change()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    received: () => received,
    open: () => sockets.size,
    until: (condition) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!condition()) return
          changed.delete(look)
          resolve()
        }
        changed.add(look)
        look()
      }),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

export interface Client {
  readonly socket: Socket
  readonly received: () => string
  /** Resolves once that many bytes are here. */
  until(length: number): Promise<string>
  /** Resolves when the connection is over: the error's code, or 'end'. */
  readonly over: Promise<string>
}

export async function client(port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (bytes) => {
    received += bytes.toString()
    socket.emit('more')
  })
  const over = new Promise<string>((resolve) => {
    socket.on('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? error.message))
    socket.on('close', () => resolve('end'))
  })
  await once(socket, 'connect')
  return {
    socket,
    received: () => received,
    async until(length) {
      while (received.length < length) await once(socket, 'more')
      return received
    },
    over,
  }
}
