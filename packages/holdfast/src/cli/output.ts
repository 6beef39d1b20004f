/**
 * Writes to the terminal, synchronously and by file descriptor. `process.stdout` would make a shared pipe non-blocking,
 * and the program that `run` starts on the same pipe would then fail with EAGAIN.
 */
import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { printable } from './table.ts'

const RETRY_MS = 5

export function print(text: string): void {
  write(1, `${harmless(text)}\n`)
}

/**
 * Removes what a terminal obeys, except for line breaks and our own bold letters. Code that prints a name chosen by
 * other people escapes it before. This also helps where code forgets to, and in JSON, which leaves U+007F to U+009F as
 * they are: U+009B begins a sequence as ESC [ does.
 */
export function harmless(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

// oxlint-disable-next-line no-control-regex
const UNSAFE = /\u001b(?!\[(?:1|22)m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g

/** One line for people on stderr, whatever the text contains. */
export function complain(text: string): void {
  write(2, `holdfast: ${printable(text.replace(/\s*\n\s*/g, ' '))}\n`)
}

/** On stderr, as it is: for text that is redrawn in place. */
export function tell(text: string): void {
  write(2, text)
}

/** On stdout, as it is. */
export function draw(text: string): void {
  write(1, text)
}

/** For HOLDFAST_DEBUG: where an error came from. */
export function debug(error: unknown): void {
  if ((process.env.HOLDFAST_DEBUG ?? '') === '') return
  write(2, `${harmless((error instanceof Error ? error.stack : undefined) ?? String(error))}\n`)
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
      // The reader has gone, as `head` does: nobody is left to tell.
      if (code === 'EPIPE') return
      // Another process has made the pipe non-blocking, and it is full.
      if (code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
    }
  }
}
