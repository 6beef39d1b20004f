/** Tells people whom a command waits for: in place on a terminal, else on one line. */
import { hostname } from 'node:os'
import { isatty } from 'node:tty'
import type { LineView } from '../contract/driver.ts'
import type { Holdfast } from '../holdfast.ts'
import { formatDuration } from './duration.ts'
import { errorText } from './exit.ts'
import { complain, tell } from './output.ts'
import { findLine } from './show.ts'
import { clip, printable } from './table.ts'
import { heldBy } from './view.ts'

/** A shorter wait needs no explanation. */
const PATIENCE_MS = 1_000
const EVERY_MS = 2_000
/** If a look takes long, among many locks or on a slow store, look less often. */
const REST = 20

export class WaitNotice {
  readonly #hf: Holdfast
  readonly #name: string
  #timer: NodeJS.Timeout | undefined
  #hasEnded = false
  #isShown = false

  constructor(hf: Holdfast, name: string) {
    this.#hf = hf
    this.#name = name
    this.#timer = setTimeout(() => void this.#look(), PATIENCE_MS)
  }

  /** The wait is over: a terminal shows nothing of it any more. */
  end(): void {
    this.#hasEnded = true
    clearTimeout(this.#timer)
    if (this.#isShown) tell('\r\u001b[K')
  }

  async #look(): Promise<void> {
    const began = performance.now()
    const text = await this.#describe()
    if (this.#hasEnded) return
    if (!isInPlace()) {
      complain(text)
      return
    }
    this.#isShown = true
    tell(`\r\u001b[K${clip(`holdfast: ${text}`, (process.stderr.columns || 80) - 1)}`)
    this.#timer = setTimeout(() => void this.#look(), Math.max(EVERY_MS, REST * (performance.now() - began)))
  }

  async #describe(): Promise<string> {
    try {
      const line = await findLine(this.#hf, this.#name)
      return waitText(line, hostname(), process.pid)
    } catch (error) {
      return `waiting for ${printable(this.#name)}: ${printable(errorText(error))}`
    }
  }
}

function isInPlace(): boolean {
  return isatty(2) && process.env.TERM !== 'dumb'
}

/**
 * The position in the queue, how long the lock has been held, and by whom. Names come last, because they may be long.
 */
export function waitText(line: LineView, host: string, pid: number): string {
  const at = line.waiters.findIndex((place) => place.host === host && place.pid === pid)
  const position = at < 0 ? '' : `, position ${at + 1} of ${line.waiters.length}`
  const holder = heldBy(line)
  const since = formatDuration(line.holders[0]?.ageMs ?? 0)
  const held = holder === null ? 'nobody holds it now' : `held for ${since} by ${printable(holder)}`
  return `waiting for ${printable(line.name)}${position}: ${held}`
}
