/**
 * The keys of the mutex in etcd's own Go library, as `etcdctl lock NAME` uses it: a place is any key under `NAME/`, and
 * the oldest holds. Lines in this layout are shared with such programs; they have capacity 1, and names are used as
 * they are.
 */
import { UnsupportedError, UsageError } from '../../contract/errors.ts'
import type { Entry } from '../../contract/driver.ts'
import { after, isOwn, type KeyRange, type Keys, LineLayout, type LineKeys, type PlaceKey } from './keys.ts'

export class GoLayout implements Keys {
  /**
   * No bell: its key would stay for good, and a lock whose name is the first part of that key would wait for it for
   * ever.
   */
  readonly bell = null
  readonly #prefix: string
  /** Other programs have no cells, so cells stay under the prefix. */
  readonly #own: LineLayout

  constructor(prefix: string) {
    this.#prefix = prefix
    this.#own = new LineLayout(prefix)
  }

  line(name: string): LineKeys {
    const head = `${name}/`
    // Every key under the name counts as a place, and keys that Holdfast keeps there stay.
    if (`${this.#prefix}/`.startsWith(head) || isOwn(this.#prefix, name)) {
      throw new UsageError(
        `etcd: in the go layout no lock can be named ${JSON.stringify(name)}, since Holdfast's own keys stand under ` +
          `${JSON.stringify(`${this.#prefix}/`)}; name it otherwise, or give another prefix`,
        { line: name },
      )
    }
    const start = Buffer.from(head)
    return { head, start, end: after(start) }
  }

  /** In this layout no place is heavier than another. */
  raised(name: string): Buffer {
    return this.#own.raised(name)
  }

  raisedLines(prefix: string): KeyRange {
    return this.#own.raisedLines(prefix)
  }

  cell(name: string): Buffer {
    return this.#own.cell(name)
  }

  lines(prefix: string): KeyRange {
    if (prefix === '') {
      throw new UnsupportedError("etcd: in the go layout a list needs a prefix, since any key may be another program's")
    }
    const start = Buffer.from(prefix)
    return { start, end: after(start) }
  }

  /** Other programs end the key with their lease in hex, we with an id in hex. */
  read(key: Uint8Array): PlaceKey | null {
    const [, name, slot] = /^(.+)\/([0-9a-f]{1,32})$/s.exec(Buffer.from(key).toString()) ?? []
    if (name === undefined || slot === undefined || isOwn(this.#prefix, name)) return null
    return { name, capacity: 1, weight: 1, slot }
  }

  place(line: LineKeys, { id }: Pick<Entry, 'id'>): string {
    return line.head + id
  }

  weight(): number {
    return 1
  }

  capacityBounds(): null {
    return null
  }
}
