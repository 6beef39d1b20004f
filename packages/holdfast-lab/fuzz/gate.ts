/**
 * Somebody on the way between a client and a real server, without TLS between them: the first connection after
 * `attack` gets bytes of the attacker's, or the server's with some of them changed; all later ones are left alone.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Five bytes say one change: where (two bytes), what kind, and the value. */
const EDIT_BYTES = 5

export class Gate {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #target: number
  #script: Buffer | null = null

  private constructor(target: number) {
    this.#target = target
    this.#server = createServer((socket) => this.#accept(socket))
  }

  static async open(target: number): Promise<Gate> {
    const gate = new Gate(target)
    await new Promise<void>((resolve) => gate.#server.listen(0, '127.0.0.1', resolve))
    return gate
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Cuts what is open, so that the client comes again and meets the attacker. */
  attack(script: Buffer): void {
    this.#script = script
    this.cut()
  }

  heal(): void {
    this.#script = null
    this.cut()
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(socket: Socket): void {
    const script = this.#script
    this.#keep(socket)
    const [kind = 0] = script ?? []
    if (script !== null && kind % 3 === 0) {
      this.#babble(socket, kind, script.subarray(1))
      return
    }
    const upstream = connect(this.#target, '127.0.0.1')
    this.#keep(upstream)
    socket.pipe(upstream)
    upstream.on('close', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
    const edits = script === null ? [] : editsOf(script.subarray(1))
    let at = 0
    upstream.on('data', (chunk: Buffer) => {
      socket.write(changed(chunk, at, edits))
      at += chunk.length
    })
  }

  /** Says its piece, at once or to the first word of the client, and hangs up or stays silent. */
  #babble(socket: Socket, kind: number, bytes: Buffer): void {
    const half = bytes.length >> 1
    socket.on('data', () => undefined)
    if (kind & 8) socket.write(bytes.subarray(0, half))
    socket.once('data', () => socket.write(kind & 8 ? bytes.subarray(half) : bytes))
    if (kind & 16) socket.once('data', () => socket.end())
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    // A cut is what this is for: whoever sees it as an error is the other side.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#sockets.delete(socket))
  }
}

interface Edit {
  readonly at: number
  readonly kind: number
  readonly value: number
}

function editsOf(script: Buffer): Edit[] {
  const edits: Edit[] = []
  for (let i = 0; i + EDIT_BYTES <= script.length && edits.length < 32; i += EDIT_BYTES) {
    edits.push({ at: script.readUInt16BE(i) % 2_048, kind: script[i + 2] as number, value: script.readUInt16BE(i + 3) })
  }
  return edits
}

function changed(chunk: Buffer, from: number, edits: readonly Edit[]): Buffer {
  let bytes = Buffer.from(chunk)
  for (const { at, kind, value } of edits) {
    const i = at - from
    if (i < 0 || i >= chunk.length || i >= bytes.length) continue
    if (kind % 4 === 0) bytes[i] = value & 0xff
    else if (kind % 4 === 1) bytes[i] = (bytes[i] as number) ^ (1 << (value & 7))
    else if (kind % 4 === 2) bytes = Buffer.concat([bytes.subarray(0, i), bytes.subarray(i + 1 + (value & 15))])
    else bytes = Buffer.concat([bytes.subarray(0, i), Buffer.alloc(1 + (value & 15), value >> 8), bytes.subarray(i)])
  }
  return bytes
}
