/**
 * Cuts one connection's byte stream into frames. It lives and dies with its connection: a cut inside a frame can't
 * shift the next one.
 */
import { MalformedReplyError } from './jute.ts'

const HEADER_BYTES = 4

export class FrameReader {
  readonly #maxFrameBytes: number
  readonly #header: Buffer = Buffer.allocUnsafe(HEADER_BYTES)
  #headerBytes = 0
  #body: Buffer | null = null
  #bodyBytes = 0

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /**
   * Feeds a chunk and calls `onFrame` for each frame that it completes; if `onFrame` returns false, the rest is
   * dropped.
   */
  push(chunk: Buffer, onFrame: (frame: Buffer) => boolean): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#body === null) {
        // The usual case first: a whole frame inside one chunk is handed on without a copy.
        if (this.#headerBytes === 0 && chunk.length - at >= HEADER_BYTES) {
          const length = this.#checked(chunk.readInt32BE(at))
          const end = at + HEADER_BYTES + length
          if (end <= chunk.length) {
            if (!onFrame(chunk.subarray(at + HEADER_BYTES, end))) return
            at = end
            continue
          }
        }
        at += this.#fillHeader(chunk, at)
        if (this.#headerBytes < HEADER_BYTES) return
        this.#headerBytes = 0
        this.#body = Buffer.allocUnsafe(this.#checked(this.#header.readInt32BE(0)))
        this.#bodyBytes = 0
      }
      const body: Buffer = this.#body
      const copied = chunk.copy(body, this.#bodyBytes, at, at + body.length - this.#bodyBytes)
      at += copied
      this.#bodyBytes += copied
      if (this.#bodyBytes < body.length) return
      this.#body = null
      if (!onFrame(body)) return
    }
  }

  #fillHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#headerBytes, at, at + HEADER_BYTES - this.#headerBytes)
    this.#headerBytes += copied
    return copied
  }

  #checked(length: number): number {
    // No ZooKeeper frame is empty; a zero here is a misframed stream or something that is not ZooKeeper.
    if (length > 0 && length <= this.#maxFrameBytes) return length
    throw new MalformedReplyError(
      `a frame of ${length} bytes arrived, allowed are 1 to ${this.#maxFrameBytes}: raise maxFrameBytes if a ` +
        `node really has that many children or bytes`,
    )
  }
}
