/** The input that is being run, in a file: it can still be read when the process that runs it hangs or has died. */
import { readSync, writeSync } from 'node:fs'

const HEAD_BYTES = 8
const INPUT_BYTES_MAX = 65_536

export class Present {
  readonly #file: number
  readonly #bytes = Buffer.alloc(HEAD_BYTES + INPUT_BYTES_MAX)
  #count = 0

  constructor(file: number) {
    this.#file = file
  }

  write(input: Buffer): void {
    this.#count++
    this.#bytes.writeUInt32LE(this.#count % 2 ** 32, 0)
    this.#bytes.writeUInt32LE(input.length, 4)
    input.copy(this.#bytes, HEAD_BYTES)
    writeSync(this.#file, this.#bytes, 0, HEAD_BYTES + Math.min(input.length, INPUT_BYTES_MAX), 0)
  }

  /** How many were begun, and the last of them. */
  read(): { readonly count: number; readonly input: Buffer } {
    const bytes = Buffer.alloc(this.#bytes.length)
    readSync(this.#file, bytes, 0, bytes.length, 0)
    const length = Math.min(bytes.readUInt32LE(4), INPUT_BYTES_MAX)
    return { count: bytes.readUInt32LE(0), input: bytes.subarray(HEAD_BYTES, HEAD_BYTES + length) }
  }
}
