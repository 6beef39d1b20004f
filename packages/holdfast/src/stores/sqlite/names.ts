/** Names as they are in the file: each begins with its user's prefix, so that several users may share one file. */

export const DEFAULT_PREFIX = 'holdfast'

export class Names {
  /** Begins with its length: so no name of one prefix is ever a name of another. */
  readonly #head: string

  constructor(prefix: string) {
    this.#head = `${prefix.length}:${prefix}`
  }

  stored(name: string): string {
    return this.#head + name
  }

  /** As its user knows it. */
  shown(stored: string): string {
    return stored.slice(this.#head.length)
  }
}
