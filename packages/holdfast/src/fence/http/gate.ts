/**
 * The newest token of each resource that this process has seen, and who is at work under it. A check before the work is not
 * enough: A passes and works slowly; its lease ends; B passes, writes, and is overwritten by A. So B is remembered at once,
 * which shuts the gate behind A, and begins when A's requests have been answered.
 */
import { type Proof, staleToken } from '../proof.ts'

/** Those who came with one token. */
class Turn {
  readonly proof: Proof
  /** The requests under way, those that wait to begin included. */
  count = 0
  readonly #ends: (() => void)[] = []

  constructor(proof: Proof) {
    this.proof = proof
  }

  end(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((resolve) => this.#ends.push(resolve))
  }

  leave(): void {
    this.count--
    if (this.count === 0) for (const resolve of this.#ends.splice(0)) resolve()
  }
}

interface Entry {
  readonly turn: Turn
  /** When those of the turn before have all been answered. */
  readonly ready: Promise<void>
}

export class Gate {
  readonly #entries = new Map<string, Entry>()
  readonly #resourcesMax: number

  constructor(resourcesMax: number) {
    this.#resourcesMax = resourcesMax
  }

  /** Resolves when the request may begin; what it gives ends its turn. Rejects with StaleTokenError. */
  async enter(resource: string, proof: Proof): Promise<() => void> {
    const { turn, ready } = this.#join(resource, proof)
    await ready
    const { turn: current } = this.#entries.get(resource) as Entry
    if (current !== turn) {
      turn.leave()
      throw staleToken(resource, proof, current.proof.token)
    }
    let isOver = false
    return () => {
      if (!isOver) turn.leave()
      isOver = true
    }
  }

  #join(resource: string, proof: Proof): Entry {
    const last = this.#entries.get(resource)
    if (last !== undefined) {
      const newest = last.turn.proof
      if (proof.token < newest.token) throw staleToken(resource, proof, newest.token)
      if (proof.token === newest.token && proof.place !== newest.place) throw staleToken(resource, proof, newest.token)
      // Written anew at the end: the map is in the order of last use.
      this.#entries.delete(resource)
    }
    const entry =
      last?.turn.proof.token === proof.token
        ? last
        : { turn: new Turn(proof), ready: last?.turn.end() ?? Promise.resolve() }
    // Counted before anything is forgotten, or it could be this one.
    entry.turn.count++
    this.#entries.set(resource, entry)
    this.#shrink()
    return entry
  }

  /** Forgets what was used longest ago, unless somebody is at work there. */
  #shrink(): void {
    for (const [resource, { turn }] of this.#entries) {
      if (this.#entries.size <= this.#resourcesMax) return
      if (turn.count === 0) this.#entries.delete(resource)
    }
  }
}
