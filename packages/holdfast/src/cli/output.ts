/**
 * Writes to the terminal. Synchronously and by file descriptor: `process.stdout` would make a shared pipe non-blocking,
 * and the program that `run` starts on the same pipe would then fail with EAGAIN.
 */
import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'

const RETRY_MS = 5

export function print(text: string): void {
  write(1, `${text}\n`)
}

/** One line for people on stderr, whatever the text contains. */
export function complain(text: string): void {
  write(2, `holdfast: ${text.replace(/\s*\n\s*/g, ' ')}\n`)
}

/** On stderr, as it is: for what is redrawn in place. */
export function tell(text: string): void {
  write(2, text)
}

/** On stdout, as it is. */
export function draw(text: string): void {
  write(1, text)
}

/** What HOLDFAST_DEBUG asks for: where an error came from. */
export function debug(error: unknown): void {
  if ((process.env.HOLDFAST_DEBUG ?? '') === '') return
  write(2, `${error instanceof Error ? error.stack : String(error)}\n`)
}

/** Whether stdout shows bold letters. */
export function isStyled(): boolean {
  return isatty(1) && (process.env.NO_COLOR ?? '') === '' && process.env.TERM !== 'dumb'
}

function write(fd: number, text: string): void {
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // The reader has gone, as `head` does: there is nobody left to tell.
      if (code === 'EPIPE') return
      // Another process has made the pipe non-blocking, and it is full.
      if (code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
    }
  }
}
