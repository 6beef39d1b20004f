/**
 * Joins what a turn of the event loop writes to a socket that is not ours: a write for every command is half of what a
 * foreign client costs. The first goes alone and at once: most turns have no second, and the server works on it meanwhile.
 */

/** The members of a socket that are called. */
export interface Corkable {
  cork?(): void
  uncork?(): void
}

export class Turn {
  #stream: Corkable | null = null
  #corked = false
  readonly #end = (): void => {
    if (this.#corked) this.#stream?.uncork?.()
    this.#corked = false
    this.#stream = null
  }

  /** To be called before a command is written to the stream. */
  join(stream: Corkable): void {
    if (this.#stream === null) {
      this.#stream = stream
      process.nextTick(this.#end)
    } else if (!this.#corked && this.#stream === stream) {
      this.#corked = true
      stream.cork?.()
    }
  }
}
