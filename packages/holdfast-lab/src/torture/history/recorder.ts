/** Writes one process's part of a history. */
import { closeSync, openSync, writeSync } from 'node:fs'
import type { HistoryEvent } from './event.ts'

export class Recorder {
  readonly #fd: number

  constructor(file: string) {
    this.#fd = openSync(file, 'a', 0o600)
  }

  /**
   * Returns once the event has left the process: a holder that is killed in the next step must still be seen to have
   * held.
   */
  record(event: HistoryEvent): void {
    writeSync(this.#fd, `${JSON.stringify(event)}\n`)
  }

  close(): void {
    closeSync(this.#fd)
  }
}
