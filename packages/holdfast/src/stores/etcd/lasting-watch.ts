/** A watch on a key or a range that is opened again whenever it ends, until it is closed. */
import { ClosedError } from '../../contract/errors.ts'
import type { EtcdClient, WatchEvent, Watcher } from '../../clients/etcd/index.ts'

const REOPEN_MS = 1_000

export class LastingWatch {
  readonly #client: EtcdClient
  readonly #key: Buffer
  readonly #rangeEnd: Buffer | undefined
  readonly #onChange: (events: readonly WatchEvent[]) => void
  #watcher: Watcher | null = null
  #timer: NodeJS.Timeout | undefined
  #closed = false

  /** Calls `onChange` without events if some may have been missed. */
  constructor(
    client: EtcdClient,
    key: Buffer,
    rangeEnd: Buffer | undefined,
    onChange: (events: readonly WatchEvent[]) => void,
  ) {
    this.#client = client
    this.#key = key
    this.#rangeEnd = rangeEnd
    this.#onChange = onChange
  }

  /** Fulfilled when the watch is in force. */
  async open(): Promise<void> {
    const options = this.#rangeEnd === undefined ? {} : { rangeEnd: this.#rangeEnd }
    const watcher = await this.#client.watch(this.#key, options, {
      onEvents: (events) => this.#onChange(events),
      onEnd: (error) => {
        if (error instanceof ClosedError) return
        this.#reopen()
        this.#onChange([])
      },
    })
    this.#watcher = watcher
    if (this.#closed) watcher.cancel()
  }

  /** The same without waiting, however many tries it takes. */
  openSoon(): void {
    this.open().then(
      () => this.#onChange([]),
      (error: unknown) => {
        if (!(error instanceof ClosedError)) this.#reopen()
      },
    )
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#watcher?.cancel()
  }

  #reopen(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => this.openSoon(), REOPEN_MS)
    this.#timer.unref()
  }
}
