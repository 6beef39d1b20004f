/** This process's side of one place: which servers were asked for it, and which are thought to vote for it. */
import type { Entry, Wake } from '../../contract/driver.ts'

export class OwnPlace {
  readonly entry: Entry
  /** Of the line, on every server. */
  readonly key: string
  /** Chosen once, and the same on every server: who comes first gets the votes of who comes later and does not hold. */
  readonly priority: number
  /** The latest question asked about it; a server ignores what belongs to an older one. See begin(). */
  round: number = 0
  /** Settled with a majority, and told to the holder: it never changes again. */
  token: number | null = null
  /** Not entered by this client: whether it holds is not known, so it never gives a vote back. */
  readonly isForeign: boolean
  /** Whether a majority voted for it in the last round that was counted. */
  isGranted: boolean = false
  isOver: boolean = false
  /** It was a try, and failed: servers that have not answered yet were not asked to leave it. */
  isRefused: boolean = false
  /** A round is under way: its outcome may rest on votes that must not be given back now. */
  isBusy: boolean = false
  /** Servers that vote for it, as far as was heard. */
  readonly votes: ServerSet = new ServerSet()
  /** Servers on which an earlier one waits for our vote. */
  readonly rivals: ServerSet = new ServerSet()
  /** When each server, by its own clock, said what was pushed last since the current round began (µs). */
  #pushedAt: number[] | null = null
  /** Servers that a request to enter was ever sent to: on others there is nothing to leave. */
  readonly sent: ServerSet = new ServerSet()
  /** Those of them that have not answered: the request may still be on its way. */
  readonly asked: ServerSet = new ServerSet()
  /** Those of them that erred: they will not answer any more, and may have done it all the same. */
  readonly erred: ServerSet = new ServerSet()
  wake: Wake | null = null

  constructor(entry: Entry, key: string, priority: number, isForeign = false) {
    this.entry = entry
    this.key = key
    this.priority = priority
    this.isForeign = isForeign
  }

  /** A new question to all: what its answers say is newer than whatever was pushed until now. */
  begin(round: number): void {
    this.round = round
    this.#pushedAt = null
  }

  /** A server has told, unasked, that it votes for the place; maybe that an earlier one waits for that vote. */
  pushed(voter: number, at: number, isRivalled: boolean): void {
    this.#pushedAt ??= []
    this.#pushedAt[voter] = at
    this.votes.add(voter)
    if (isRivalled) this.rivals.add(voter)
  }

  /**
   * A server has answered. A answers "you wait", then B leaves and A pushes its vote: read together, the push is dealt
   * with at once and the answer a moment later. Believed last, it would undo the vote, and its owner would sleep until
   * the net catches it.
   */
  answered(voter: number, at: number, hasVote: boolean, isRivalled: boolean): void {
    const pushedAt = this.#pushedAt?.[voter]
    if (pushedAt !== undefined && at < pushedAt) return
    if (hasVote) this.votes.add(voter)
    else this.votes.delete(voter)
    if (hasVote && isRivalled) this.rivals.add(voter)
    else this.rivals.delete(voter)
  }
}

/**
 * Some of the servers, by their index: at most fifteen, so that one number holds them and a place needs no hash tables.
 */
export class ServerSet {
  #bits = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  has(index: number): boolean {
    return (this.#bits & (1 << index)) !== 0
  }

  add(index: number): void {
    if (this.has(index)) return
    this.#bits |= 1 << index
    this.#size++
  }

  /** Whether it was there. */
  delete(index: number): boolean {
    if (!this.has(index)) return false
    this.#bits &= ~(1 << index)
    this.#size--
    return true
  }
}
