/**
 * The newest token of each resource that this process has seen, and which requests work under it. A check before the
 * work is not enough: A passes and works slowly; its lease ends; B passes and writes; A overwrites what B wrote. So the
 * gate remembers B at once, which shuts out further requests of A, and lets B begin when A's requests have been
 * answered. B waits for that for at most `waitMs`.
 */
import { system } from '../../system.ts'
import { type Proof, staleToken } from '../proof.ts'

/** The requests that came with one token. */
class Turn {
  readonly proof: Proof
  /** The requests under way, including those that wait to begin. */
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
  /** Resolves when the requests of all turns before have been answered. */
  readonly ready: Promise<void>
  isReady: boolean
  /** Called then. */
  readonly waiters: Set<() => void>
}

export interface GateSettings {
  readonly resourcesMax: number
  readonly waitMs: number
  readonly turnMsMax: number
}

export class Gate {
  readonly #entries = new Map<string, Entry>()
  readonly #settings: GateSettings

  constructor(settings: GateSettings) {
    this.#settings = settings
  }

  /**
   * Resolves when the request may begin, with a function that ends its turn. null: after `waitMs` requests of an older
   * holder are still at work. Rejects with StaleTokenError.
   */
  async enter(resource: string, proof: Proof): Promise<(() => void) | null> {
    const entry = this.#join(resource, proof)
    const { turn } = entry
    const isFree = entry.isReady || (await this.#comes(entry))
    const { turn: current } = this.#entries.get(resource) as Entry
    if (current !== turn) {
      turn.leave()
      throw staleToken(resource, proof, current.proof.token)
    }
    if (!isFree) {
      turn.leave()
      return null
    }
    return this.#atWork(turn)
  }

  #atWork(turn: Turn): () => void {
    const { turnMsMax } = this.#settings
    let isOver = false
    const end = (): void => {
      cancel?.()
      if (!isOver) turn.leave()
      isOver = true
    }
    const cancel = turnMsMax === Number.POSITIVE_INFINITY ? null : system.after(turnMsMax, end, false)
    return end
  }

  /** False: not within `waitMs`. A request that gives up leaves nothing behind, however long the older one works. */
  #comes({ waiters }: Entry): Promise<boolean> {
    const { waitMs } = this.#settings
    return new Promise((resolve) => {
      const come = (): void => {
        cancel?.()
        resolve(true)
      }
      const giveUp = (): void => {
        waiters.delete(come)
        resolve(false)
      }
      waiters.add(come)
      const cancel = waitMs === Number.POSITIVE_INFINITY ? null : system.after(waitMs, giveUp, false)
    })
  }

  #join(resource: string, proof: Proof): Entry {
    const last = this.#entries.get(resource)
    if (last !== undefined) {
      const newest = last.turn.proof
      if (proof.token < newest.token) throw staleToken(resource, proof, newest.token)
      if (proof.token === newest.token && proof.place !== newest.place) throw staleToken(resource, proof, newest.token)
      // Deleted and set again, so that the map is in the order of last use.
      this.#entries.delete(resource)
    }
    const entry = last?.turn.proof.token === proof.token ? last : behind(last, proof)
    // Count before forgetting anything, or this entry could be the one that is forgotten.
    entry.turn.count++
    this.#entries.set(resource, entry)
    this.#shrink()
    return entry
  }

  /** Forgets the entry used longest ago, unless requests are at work there. */
  #shrink(): void {
    for (const [resource, { turn, isReady }] of this.#entries) {
      if (this.#entries.size <= this.#settings.resourcesMax) return
      if (turn.count === 0 && isReady) this.#entries.delete(resource)
    }
  }
}

/**
 * A turn behind the last one. Schedule: A is at work; B waits in vain and goes; C comes. Then B's turn is empty but A's
 * is not, so C waits for what B waited for. No request begins under B any more, because C is newer.
 */
function behind(last: Entry | undefined, proof: Proof): Entry {
  const turn = new Turn(proof)
  if (last === undefined || (last.isReady && last.turn.count === 0)) {
    return { turn, ready: Promise.resolve(), isReady: true, waiters: new Set() }
  }
  const { turn: before, ready: earlier } = last
  const entry: Entry = {
    turn,
    ready: before.count === 0 ? earlier : earlier.then(() => before.end()),
    isReady: false,
    waiters: new Set(),
  }
  void entry.ready.then(() => {
    entry.isReady = true
    for (const come of entry.waiters) come()
    return undefined
  })
  return entry
}
