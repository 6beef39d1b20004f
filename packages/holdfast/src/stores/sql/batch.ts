/**
 * Calls of one turn of the event loop, sent as one statement. A commit and a round trip cost far more than the one row
 * that a call changes, and those who are answered together go on together: 256 tasks that each lock a name of their own
 * are served by two statements at a time. Nobody waits for company: a call that has none is sent as it always was.
 */
import { StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import type { Entry } from '../../contract/driver.ts'
import type { Traffic } from './batch-statements.ts'

/** What a call was answered; null: it changed nothing, and has to be made the long way. */
export type Answer = string | null

export interface BatchParts {
  readonly traffic: Traffic
  /**
   * A turn with so many calls makes two statements while none is on its way: with one alone the client would wait for
   * the server and the server for the client, one processor at a time. From then on there are two that take turns.
   */
  readonly halvesFrom: number
  /** Makes one call by itself. */
  readonly alone: (entry: Entry) => Promise<Answer>
  /** Makes several calls in one statement: all of them are carried out, or none. One answer each, in their order. */
  readonly together: (entries: readonly Entry[]) => Promise<readonly Answer[]>
}

interface Call {
  readonly entry: Entry
  resolve(answer: Answer | Promise<Answer>): void
  reject(error: unknown): void
}

/** In one statement, at most. */
const CALLS_MAX = 128
/** After so many turns with one call each no company is expected. */
const LONELY = 16

export class CallBatch {
  readonly #parts: BatchParts
  readonly #end = (): void => this.#send()
  #calls: Call[] = []
  /** How many turns in a row have asked for one thing only. */
  #lonelyTurns = 0

  constructor(parts: BatchParts) {
    this.#parts = parts
  }

  ask(entry: Entry): Promise<Answer> {
    // One caller, again and again: to look for company costs a twentieth of the time. As soon as anything else is on
    // its way it is looked for again: else 256 callers would become 256 statements, one by one.
    if (this.#lonelyTurns >= LONELY && this.#calls.length === 0 && this.#parts.traffic.isQuiet) {
      return this.#sendOne(entry)
    }
    return new Promise((resolve, reject) => {
      // After all that follows from the last answer has run, and before anything new is read.
      if (this.#calls.push({ entry, resolve, reject }) === 1) process.nextTick(this.#end)
    })
  }

  #send(): void {
    const { traffic, halvesFrom } = this.#parts
    const halves = this.#calls.length >= halvesFrom && traffic.isQuiet
    const most = halves ? Math.min(CALLS_MAX, Math.ceil(this.#calls.length / 2)) : CALLS_MAX
    while (this.#calls.length > 0 && traffic.room > 0) {
      const calls = this.#calls.splice(0, most)
      this.#lonelyTurns = calls.length === 1 ? this.#lonelyTurns + 1 : 0
      void this.#sendSome(calls)
    }
    if (this.#calls.length > 0) traffic.whenRoom(this.#end)
  }

  async #sendSome(calls: readonly Call[]): Promise<void> {
    if (calls.length === 1) {
      this.#sendAlone(calls)
      return
    }
    const { traffic, together } = this.#parts
    try {
      const answers = await traffic.add(together(calls.map(({ entry }) => entry)))
      for (const [i, { resolve }] of calls.entries()) resolve(answers[i] ?? null)
    } catch (error) {
      // The server has refused one of them, and with it all: nothing was carried out. Each asks for itself, and is told
      // its own reason. Without an answer each is in doubt, as it would be alone, and is asked again with the same id.
      if (error instanceof StoreError && !(error instanceof StoreUnreachableError)) this.#sendAlone(calls)
      else for (const { reject } of calls) reject(error)
    }
  }

  #sendAlone(calls: readonly Call[]): void {
    for (const { entry, resolve } of calls) resolve(this.#sendOne(entry))
  }

  #sendOne(entry: Entry): Promise<Answer> {
    return this.#parts.traffic.add(this.#parts.alone(entry))
  }
}
