/** A client's connection to the referee. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Answer, Say } from './messages.ts'

export class LineToReferee {
  readonly #socket: Socket
  readonly #waiting = new Map<number, (accepted: boolean) => void>()

  private constructor(socket: Socket) {
    this.#socket = socket
    // The referee goes only when the run is over.
    socket.on('error', () => undefined)
    const lines = createInterface({ input: socket })
    lines.on('error', () => undefined)
    lines.on('line', (text) => {
      const { i, accepted } = JSON.parse(text) as Answer
      const resolve = this.#waiting.get(i)
      this.#waiting.delete(i)
      resolve?.(accepted)
    })
  }

  static async open(path: string, p: string): Promise<LineToReferee> {
    const socket = connect({ path })
    await once(socket, 'connect')
    const line = new LineToReferee(socket)
    line.#say({ say: 'hello', p })
    return line
  }

  /** Sent in the same tick; true: the resource that checks tokens let it through. */
  step(step: Omit<Extract<Say, { say: 'step' }>, 'say'>): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting.set(step.i, resolve)
      this.#say({ say: 'step', ...step })
    })
  }

  leave(i: number, line: string): void {
    this.#say({ say: 'leave', i, line })
  }

  close(): void {
    this.#socket.end()
  }

  #say(say: Say): void {
    this.#socket.write(`${JSON.stringify(say)}\n`)
  }
}
