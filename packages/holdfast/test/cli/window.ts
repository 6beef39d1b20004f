/** A real terminal for tests: a window of tmux. What is asserted is what a person would see in it. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll } from 'vitest'
import { requireTools } from '../../../holdfast-lab/src/testbed/require.ts'
import { until } from './terminal.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url))

let windows = 0

export class Window {
  #socket = ''
  #isOpen = false

  constructor() {
    beforeAll(() => requireTools(['terminal', 'shells']))
    afterEach(() => this.close())
  }

  /** Opens a window with a shell in it, where `holdfast` is the built command. */
  open(env: Readonly<Record<string, string>>, shell = 'bash --norc --noprofile -i'): void {
    this.close()
    // A server of its own: the last one may still be on its way out.
    this.#socket = `holdfast-${process.pid}-${windows++}`
    const size = ['-x', '80', '-y', '24']
    const own = { ...env, HOLDFAST_CLI: MAIN, NODE: process.execPath, PS1: '$ ' }
    const set = Object.entries(own).map(([name, text]) => `${name}='${text}'`)
    this.#tmux('-f', '/dev/null', 'new-session', '-d', ...size, `env ${set.join(' ')} ${shell}`)
    this.#isOpen = true
    this.line('holdfast() { "$NODE" "$HOLDFAST_CLI" "$@"; }; clear')
  }

  /** Types a line and presses Enter. */
  line(text: string): void {
    this.#tmux('send-keys', '-l', '--', text)
    this.#tmux('send-keys', 'Enter')
  }

  /** Types letters as they are. */
  type(text: string): void {
    this.#tmux('send-keys', '-l', '--', text)
  }

  /** Presses keys by their names: `Enter`, `C-c`, `Escape`, `Tab`. */
  press(...keys: readonly string[]): void {
    this.#tmux('send-keys', ...keys)
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', String(rows))
  }

  /** What can be seen, row by row. */
  get rows(): string[] {
    return this.#tmux('capture-pane', '-p').split('\n').slice(0, -1)
  }

  get text(): string {
    return this.rows.join('\n')
  }

  /** Whether the program has an empty screen of its own at the moment, as editors have. */
  get isAlternate(): boolean {
    return this.#tmux('display-message', '-p', '#{alternate_on}').trim() === '1'
  }

  get hasCursor(): boolean {
    return this.#tmux('display-message', '-p', '#{cursor_flag}').trim() === '1'
  }

  /** Waits until the text can be seen. */
  async shows(what: RegExp): Promise<void> {
    let seen = ''
    try {
      await until(String(what), () => {
        seen = this.text
        return what.test(seen)
      })
    } catch {
      throw new Error(`never saw ${what}; seen last:\n${seen}`)
    }
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#tmux('kill-server')
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...args], { encoding: 'utf8' })
  }
}
