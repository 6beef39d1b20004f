/**
 * The terminal as one page that is redrawn in place. Whatever ends the command, the terminal is left as we found it:
 * its text, its cursor, and how it reads keys. Only after `kill -9` must the user call `reset`.
 */
import { isatty } from 'node:tty'
import { draw } from './output.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** `resize` is no key: the terminal has another size now. */
export type Key = string

const ESCAPE = '\u001b'
const ENTER = `${ESCAPE}[?1049h${ESCAPE}[?25l`
const LEAVE = `${ESCAPE}[?25h${ESCAPE}[?1049l`

/** What terminals send for keys that are no letters. */
const NAMES: Readonly<Record<string, Key>> = {
  '\u001b[A': 'up',
  '\u001b[B': 'down',
  '\u001bOA': 'up',
  '\u001bOB': 'down',
  '\u001b[5~': 'page up',
  '\u001b[6~': 'page down',
  '\u001b[H': 'home',
  '\u001b[F': 'end',
  '\u001b': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'interrupt',
  '\u0004': 'interrupt',
  '\u001a': 'suspend',
}

/** Whether there is a terminal that can be redrawn. */
export function hasScreen(): boolean {
  return isatty(1) && process.env.TERM !== 'dumb'
}

/** A sequence that begins with Escape, or any one character. */
const TOKEN = new RegExp(`${ESCAPE}(?:\\[[\\d;]*[ -/]*[@-~]|O.)|[^]`, 'gu')

/** What the user typed, as keys. Several keys may come at once; an unknown sequence is dropped. */
export function keysIn(text: string): Key[] {
  const tokens = text.match(TOKEN) ?? []
  return tokens.flatMap((token) => {
    const name = NAMES[token]
    if (name !== undefined) return [name]
    return /^[\p{Cc}\p{Cs}]/u.test(token) ? [] : [token]
  })
}

export class Screen {
  readonly #onKey: (key: Key) => void
  #isOpen = false
  #shown = ''

  /** Takes the terminal, and calls back for each key and for a new size ('resize'). */
  constructor(onKey: (key: Key) => void) {
    this.#onKey = onKey
    process.on('exit', this.#leave)
    process.on('SIGCONT', this.#continued)
    process.stdout.on('resize', this.#resized)
    this.#enter()
  }

  get size(): Size {
    return { columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }
  }

  /** Shows these rows, which must fit. Unchanged rows are not written again. */
  show(rows: readonly string[]): void {
    const page = `\u001b[H${rows.map((row) => `${row}\u001b[K`).join('\r\n')}\u001b[J`
    if (!this.#isOpen || page === this.#shown) return
    this.#shown = page
    draw(page)
  }

  /** Ctrl-Z: the shell gets its terminal back until `fg`. */
  suspend(): void {
    this.#leave()
    process.kill(process.pid, 'SIGSTOP')
  }

  close(): void {
    process.off('exit', this.#leave)
    process.off('SIGCONT', this.#continued)
    process.stdout.off('resize', this.#resized)
    this.#leave()
  }

  #enter(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#shown = ''
    draw(ENTER)
    if (!process.stdin.isTTY) return
    process.stdin.setRawMode(true)
    // The input was paused when Ctrl-Z left the terminal.
    process.stdin.setEncoding('utf8').on('data', this.#typed).resume()
  }

  readonly #leave = (): void => {
    if (!this.#isOpen) return
    this.#isOpen = false
    draw(LEAVE)
    if (!process.stdin.isTTY) return
    process.stdin.off('data', this.#typed).pause()
    process.stdin.setRawMode(false)
  }

  readonly #continued = (): void => {
    this.#enter()
    this.#onKey('resize')
  }

  readonly #resized = (): void => {
    this.#shown = ''
    this.#onKey('resize')
  }

  readonly #typed = (text: string): void => {
    for (const key of keysIn(text)) this.#onKey(key)
  }
}
