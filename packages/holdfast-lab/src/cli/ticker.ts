/** Progress on stderr: one line that is overwritten on a terminal, and a new line every few seconds elsewhere. */
import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import type { Progress } from '../torture/conductor/options.ts'
import { formatDuration } from 'holdfast/internal'

const EVERY_MS = 5_000

export class Ticker {
  readonly #isOn: boolean
  readonly #isTerminal: boolean
  #shownAt = Number.NEGATIVE_INFINITY
  #isOpen = false

  constructor(isOn: boolean) {
    this.#isOn = isOn
    this.#isTerminal = isatty(2)
  }

  show({ phase, elapsedMs, visits, faults, fault, holders, crowded }: Progress): void {
    if (!this.#isOn || (!this.#isTerminal && elapsedMs - this.#shownAt < EVERY_MS)) return
    this.#shownAt = elapsedMs
    const parts = [
      formatDuration(elapsedMs),
      phase,
      `${visits} visits`,
      `${faults} faults${fault === '' ? '' : `, last ${fault}`}`,
      `${crowded} exposures`,
      ...(holders === '' ? [] : [`now ${holders}`]),
    ]
    const text = parts.join(' · ')
    writeSync(2, this.#isTerminal ? `\r\u001b[K${text.slice(0, 160)}` : `${text}\n`)
    this.#isOpen = this.#isTerminal
  }

  end(): void {
    if (this.#isOpen) writeSync(2, '\r\u001b[K')
    this.#isOpen = false
  }
}
