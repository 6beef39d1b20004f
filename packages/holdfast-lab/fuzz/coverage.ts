/** Which blocks of the library have run, as V8 counts them: an input that reaches a new one is worth keeping. */
import { type Profiler, Session } from 'node:inspector'

const LIBRARY = '/packages/holdfast/src/'

export class Coverage {
  readonly #session = new Session()
  readonly #seen = new Set<string>()

  constructor() {
    this.#session.connect()
    // Answered before `post` returns: an inspector of the own thread is synchronous.
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** How many blocks have run so far. */
  get size(): number {
    return this.#seen.size
  }

  /** How many blocks ran for the first time since the last look. With `remember` false they stay new. */
  look(remember: boolean): number {
    let fresh = 0
    for (const key of this.#ran()) {
      if (this.#seen.has(key)) continue
      fresh++
      if (remember) this.#seen.add(key)
    }
    return fresh
  }

  close(): void {
    this.#session.disconnect()
  }

  #ran(): string[] {
    let scripts: readonly Profiler.ScriptCoverage[] = []
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error
      scripts = answer.result
    })
    const keys: string[] = []
    for (const { url, functions } of scripts) {
      const at = url.indexOf(LIBRARY)
      if (at < 0) continue
      const file = url.slice(at + LIBRARY.length)
      for (const { ranges } of functions) {
        for (const { count, startOffset, endOffset } of ranges) {
          if (count > 0) keys.push(`${file}:${startOffset}-${endOffset}`)
        }
      }
    }
    return keys
  }
}
