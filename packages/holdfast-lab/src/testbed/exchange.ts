/**
 * One request to a server and its answer, over a connection of its own: enough to know that the server really serves.
 */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Identity } from './certificates.ts'

interface Question {
  readonly port: number
  /** Asked over TLS, by this client; default in plain text. */
  readonly tls?: Identity['pem'] | undefined
  /** Sent on connect; nothing for a server that speaks first. */
  readonly send?: string | Buffer
  /** Called with all bytes so far. True: the answer is complete. It may throw, or return more bytes to send. */
  readonly done: (answer: Buffer) => boolean | Buffer
  /** Default 2 000. */
  readonly timeoutMs?: number
}

/** Resolves with the answer; rejects when the server hangs up, errs or is silent. */
export function exchange(q: Question): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const address = { host: '127.0.0.1', port: q.port, noDelay: true }
    const socket = q.tls === undefined ? connect(address) : connectTls({ ...address, ...q.tls })
    let answer = Buffer.alloc(0)
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      socket.destroy()
      settle()
    }
    const fail = (error: Error): void => end(() => reject(error))
    const timeoutMs = q.timeoutMs ?? 2_000
    const timer = setTimeout(() => fail(new Error(`no answer from port ${q.port} within ${timeoutMs} ms`)), timeoutMs)
    socket.on('error', fail)
    socket.on('close', () => fail(new Error(`port ${q.port} hung up after ${answer.length} bytes`)))
    socket.on(q.tls === undefined ? 'connect' : 'secureConnect', () => {
      if (q.send !== undefined) socket.write(q.send)
    })
    socket.on('data', (bytes) => {
      answer = Buffer.concat([answer, bytes as Buffer])
      try {
        const done = q.done(answer)
        if (typeof done !== 'boolean') socket.write(done)
        else if (done) end(() => resolve(answer))
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)))
      }
    })
  })
}
