/** Opens the socket under a link: TCP or TLS, keep-alive on, Nagle off. */
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { ResolvedOptions } from './options.ts'

const READ_BYTES = 65_536
/** First keep-alive probe after this long without traffic. */
const KEEP_ALIVE_MS = 10_000
/** How much may wait inside the socket before commands are held back, where they still count as unsent. */
const WRITE_AHEAD_BYTES = 1_048_576

/** `onBytes` must be done with the bytes when it returns: the buffer is used again. */
export function openSocket(options: ResolvedOptions, onOpen: () => void, onBytes: (bytes: Buffer) => void): Socket {
  const target = {
    host: options.host,
    port: options.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    writableHighWaterMark: WRITE_AHEAD_BYTES,
  }
  if (options.tls !== false) {
    const socket = connectTls({ ...target, ...(options.tls === true ? {} : options.tls) })
    // node:tls passes neither on to the socket it makes.
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.once('secureConnect', onOpen)
    socket.on('data', onBytes)
    return socket
  }
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const onread = {
    buffer,
    callback: (length: number): boolean => {
      onBytes(buffer.subarray(0, length))
      return true
    },
  }
  const socket = connectTcp({ ...target, onread })
  socket.once('connect', onOpen)
  return socket
}
