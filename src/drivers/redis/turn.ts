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
  #begun = false
  #corked: readonly Corkable[] = []
  readonly #end = (): void => {
    for (const socket of this.#corked) socket.uncork?.()
    this.#corked = []
    this.#begun = false
  }

  /** To be called before a command is given to the client; `sockets` are those that it may be written to. */
  join(sockets: () => readonly Corkable[]): void {
    if (!this.#begun) {
      this.#begun = true
      process.nextTick(this.#end)
    } else if (this.#corked.length === 0) {
      this.#corked = sockets()
      for (const socket of this.#corked) socket.cork?.()
    }
  }
}
