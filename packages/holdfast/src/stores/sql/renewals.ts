/**
 * Renewals that are asked for in one turn of the event loop, sent as one statement: core hands over 500 places a call,
 * so that no call blocks the loop for long, and a process with ten thousand holds would make twenty statements of them.
 * Each is a commit; five are cheaper.
 */
import type { Entry, Place } from '../../contract/driver.ts'

type Send = (entries: readonly Entry[]) => Promise<(Place | null)[]>

/** In one statement, which holds the locks of all its rows until it ends: a leave among them waits for it. */
const PLACES_MAX = 2_000

interface Round {
  readonly entries: Entry[]
  /** Where each place stands among them: one that is asked for twice must not be updated twice by one statement. */
  readonly at: Map<string, number>
  readonly answer: Promise<(Place | null)[]>
}

export class Renewals {
  readonly #send: Send
  #round: Round | null = null

  constructor(send: Send) {
    this.#send = send
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    if (this.#round !== null && this.#round.entries.length + entries.length > PLACES_MAX) this.#round = null
    const round = (this.#round ??= this.#open())
    const mine = entries.map((entry) => {
      const known = round.at.get(entry.id)
      if (known !== undefined) return known
      round.at.set(entry.id, round.entries.length)
      return round.entries.push(entry) - 1
    })
    const places = await round.answer
    return mine.map((at) => places[at] ?? null)
  }

  #open(): Round {
    const entries: Entry[] = []
    // After whatever else this turn asks for: then nobody can join any more.
    const answer = Promise.resolve().then(() => {
      if (this.#round?.entries === entries) this.#round = null
      return this.#send(entries)
    })
    return { entries, at: new Map(), answer }
  }
}
