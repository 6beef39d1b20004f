/** Names as they stand in the file: each with the prefix of whoever gave it, so that several may share one file. */

export const DEFAULT_PREFIX = 'holdfast'

export class Names {
  /** With its length in front: no name of one prefix is ever a name of another. */
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
