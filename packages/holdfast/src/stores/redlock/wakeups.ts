/**
 * What a process hears from the servers: votes for its places, requests to give one back, and changes of lines it
 * observes.
 */
import { diagnostics } from '../../contract/events.ts'
import type { Stop, Wake } from '../../contract/driver.ts'
import type { Keys } from '../redis/keys.ts'
import type { OwnPlace } from './places.ts'
import type { Servers } from './servers.ts'
import type { Voter } from './voter.ts'

/** How long the servers publish a line's changes for an observer, and how often it asks for that again. */
const OBSERVE_MS = 30_000
const OBSERVE_AGAIN_MS = 10_000
/** A client of the user can fail to listen and yet answer: nothing else would tell to try again. */
const LISTEN_AGAIN_MS = 1_000

interface Observed {
  readonly wakes: Set<Wake>
  cancel: () => void
}

export class Wakeups {
  readonly id: string
  readonly #servers: Servers
  readonly #keys: Keys
  readonly #marker: string
  readonly #retentionMs: number
  readonly #ownPlaces: ReadonlyMap<string, OwnPlace>
  readonly #inquired: (own: OwnPlace) => void
  readonly #listening = new Set<Voter>()
  readonly #lines = new Map<string, Observed>()
  #closed = false

  constructor(
    servers: Servers,
    keys: Keys,
    at: { readonly id: string; readonly marker: string; readonly retentionMs: number },
    ownPlaces: ReadonlyMap<string, OwnPlace>,
    inquired: (own: OwnPlace) => void,
  ) {
    this.#servers = servers
    this.#keys = keys
    this.id = at.id
    this.#marker = at.marker
    this.#retentionMs = at.retentionMs
    this.#ownPlaces = ownPlaces
    this.#inquired = inquired
  }

  /**
   * Subscribes on a server that has joined, once; the connection keeps it over reconnects. Failing that, waiters ask.
   */
  listen(voter: Voter): void {
    if (!this.#listening.has(voter)) {
      this.#listening.add(voter)
      const channel = `${voter.wire.keyPrefix}${this.#marker}:${this.id}`
      voter.wire
        .subscribe(channel, (message) => this.#heard(voter, message))
        .then(
          // Who entered before this, by a connection of its own, may already have been told.
          () => (voter.wire.tells ? undefined : this.gap()),
          (error: unknown) => {
            this.#listening.delete(voter)
            diagnostics.failed('', error)
            this.#servers.runtime.after(LISTEN_AGAIN_MS, () => this.#listenAgain(voter), false)
          },
        )
    }
    for (const line of this.#lines.keys()) this.#observeAt(voter, line)
  }

  /** Wakes on any change of a line, as any server tells it. */
  async observe(line: string, wake: Wake): Promise<Stop> {
    let observed = this.#lines.get(line)
    if (observed === undefined) {
      observed = { wakes: new Set(), cancel: () => undefined }
      this.#lines.set(line, observed)
      await this.#begin(line, observed)
    }
    const { wakes } = observed
    wakes.add(wake)
    return () => {
      wakes.delete(wake)
      if (wakes.size === 0) this.#end(line)
    }
  }

  /** Messages of this server may have been missed. */
  gap(): void {
    for (const own of this.#ownPlaces.values()) if (!own.isGranted) own.wake?.()
    for (const { wakes } of this.#lines.values()) for (const wake of [...wakes]) wake()
  }

  close(): void {
    this.#closed = true
    for (const line of this.#lines.keys()) this.#end(line)
  }

  #listenAgain(voter: Voter): void {
    // One that is away is listened to when it has joined.
    if (!this.#closed && voter.phase === 'ready') this.listen(voter)
  }

  /**
   * The server's time, then `v`, `y` or `b` and an id, several by commas: has the vote now, is asked to yield it, was
   * broken.
   */
  #heard(voter: Voter, message: string): void {
    const [at, ...items] = message.split(',')
    for (const item of items) {
      const own = this.#ownPlaces.get(item.slice(1))
      if (own === undefined) continue
      if (item.startsWith('b')) {
        own.wake?.()
        continue
      }
      const isRivalled = item.startsWith('y')
      own.pushed(voter.index, Number(at), isRivalled)
      if (isRivalled) this.#inquired(own)
      // One look when a majority seems to be there, rather than one for each vote; a round under way looks for itself
      // when it ends.
      else if (!own.isBusy && !own.isGranted && own.votes.size >= this.#servers.quorum) own.wake?.()
    }
  }

  async #begin(line: string, observed: Observed): Promise<void> {
    const { voters, quorum } = this.#servers
    const done = voters.map((voter) => this.#subscribeAt(voter, line, observed))
    const ends = await Promise.allSettled(done)
    const errors = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []))
    if (ends.length - errors.length < quorum) {
      this.#end(line)
      throw this.#servers.unreachable(ends.length - errors.length, errors, line)
    }
    this.#askAgain(line, observed)
  }

  async #subscribeAt(voter: Voter, line: string, { wakes }: Observed): Promise<void> {
    if (voter.trouble !== null) throw voter.trouble
    await voter.wire.subscribe(this.#channelOf(voter, line), () => {
      for (const wake of [...wakes]) wake()
    })
    await voter.look('observe', [this.#keys.line(line)[0]], [OBSERVE_MS, this.#retentionMs])
  }

  #observeAt(voter: Voter, line: string): void {
    voter
      .look('observe', [this.#keys.line(line)[0]], [OBSERVE_MS, this.#retentionMs])
      .catch((error: unknown) => diagnostics.failed(line, error))
  }

  #askAgain(line: string, observed: Observed): void {
    observed.cancel = this.#servers.runtime.after(
      OBSERVE_AGAIN_MS,
      () => {
        for (const voter of this.#servers.voters) if (voter.phase === 'ready') this.#observeAt(voter, line)
        this.#askAgain(line, observed)
      },
      false,
    )
  }

  #end(line: string): void {
    this.#lines.get(line)?.cancel()
    this.#lines.delete(line)
    for (const voter of this.#servers.voters) {
      voter.wire.unsubscribe(this.#channelOf(voter, line)).catch((error: unknown) => diagnostics.failed(line, error))
    }
  }

  #channelOf(voter: Voter, line: string): string {
    return voter.wire.keyPrefix + this.#keys.observers(line)
  }
}
