/** One watch on a key or a range: how far it has reported, and to whom. */
import type { RangeRequest } from './messages/kv.ts'
import type { WatchCreateRequest, WatchEvent, WatchResponse } from './messages/watch.ts'

export interface WatchOptions {
  /** First key past the range; absent: just the key; one zero byte: everything from the key on. */
  readonly rangeEnd?: Uint8Array
  /** The first revision to report. Default 0n: what comes after the confirmation. */
  readonly startRevision?: bigint
  /** Kinds of events to leave out. */
  readonly filters?: readonly ('noput' | 'nodelete')[]
  /** Report the value before the change, too. Default false. */
  readonly prevKv?: boolean
}

/** The network loop calls both; they must not throw. */
export interface WatchObserver {
  /**
   * All events of one answer, oldest first; each revision is reported as a whole, and once. `revision` is the store's.
   */
  onEvents(events: readonly WatchEvent[], revision: bigint): void
  /** No more events: `EtcdCompactedError`, `EtcdWatchCancelledError`, or `ClosedError`. Not called after `cancel`. */
  onEnd(error: Error): void
}

export class Watcher {
  readonly #key: Uint8Array
  readonly #options: WatchOptions
  readonly #observer: WatchObserver
  readonly #onCancel: (watcher: Watcher) => void
  readonly #created: Promise<void>
  #confirm: () => void = () => {}
  #refuse: (error: Error) => void = () => {}
  #confirmed = false
  #ended = false
  #nextRevision: bigint
  #pieces: readonly WatchEvent[] = []

  constructor(key: Uint8Array, options: WatchOptions, observer: WatchObserver, onCancel: (watcher: Watcher) => void) {
    this.#key = key
    this.#options = options
    this.#observer = observer
    this.#onCancel = onCancel
    this.#nextRevision = options.startRevision ?? 0n
    this.#created = new Promise((resolve, reject) => {
      this.#confirm = resolve
      this.#refuse = reject
    })
  }

  /** The first revision not reported yet; after a broken connection the watch continues here. */
  get nextRevision(): bigint {
    return this.#nextRevision
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Settles when the server has confirmed, or refused, the watch. */
  get created(): Promise<void> {
    return this.#created
  }

  /** The observer gets nothing more from now on. */
  cancel(): void {
    if (this.#ended) return
    this.#ended = true
    this.#onCancel(this)
  }

  /** The smallest read of the same keys: it succeeds if the watch is permitted. */
  probe(): RangeRequest {
    const { rangeEnd } = this.#options
    return { key: this.#key, countOnly: true, ...(rangeEnd === undefined ? {} : { rangeEnd }) }
  }

  /** What to ask of a fresh stream. */
  request(): WatchCreateRequest {
    // Pieces of an answer that the last stream didn't finish come again from its first revision.
    this.#pieces = []
    const { rangeEnd, filters, prevKv } = this.#options
    return {
      key: this.#key,
      startRevision: this.#nextRevision,
      progressNotify: true,
      fragment: true,
      ...(rangeEnd === undefined ? {} : { rangeEnd }),
      ...(filters === undefined ? {} : { filters }),
      ...(prevKv === undefined ? {} : { prevKv }),
    }
  }

  onCreated(revision: bigint): void {
    if (this.#nextRevision === 0n) this.#nextRevision = revision + 1n
    this.#confirmed = true
    this.#confirm()
  }

  onAnswer(answer: WatchResponse): void {
    const { events, fragment, header } = answer
    if (events.length === 0) {
      // The server's own progress note: everything up to here was reported.
      if (this.#pieces.length === 0 && header.revision >= this.#nextRevision) this.#nextRevision = header.revision + 1n
      return
    }
    const all = this.#pieces.length === 0 ? events : this.#pieces.concat(events)
    this.#pieces = fragment ? all : []
    if (fragment) return
    const last = all.at(-1)
    if (last === undefined) return
    this.#nextRevision = last.kv.modRevision + 1n
    this.#observer.onEvents(all, header.revision)
  }

  /** The server won't continue this watch. */
  end(error: Error): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#confirmed) this.#observer.onEnd(error)
    else this.#refuse(error)
  }
}
