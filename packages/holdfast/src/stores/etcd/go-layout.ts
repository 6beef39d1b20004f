/**
 * The keys of the mutex in etcd's own Go library, as `etcdctl lock NAME` uses it: a place is any key under `NAME/`, the
 * oldest holds. Lines in this layout are shared with such programs; they have capacity 1, and names are taken as they are.
 */
import { UnsupportedError } from '../../core/errors.ts'
import type { Entry } from '../../driver.ts'
import { after, type KeyRange, type Keys, LineLayout, type LineKeys, type PlaceKey } from './keys.ts'

export class GoLayout implements Keys {
  readonly bell: Buffer
  /** What is no line has no counterpart elsewhere: cells and the bell stay under the prefix. */
  readonly #own: LineLayout

  constructor(prefix: string) {
    this.#own = new LineLayout(prefix)
    this.bell = this.#own.bell
  }

  line(name: string): LineKeys {
    const head = `${name}/`
    const start = Buffer.from(head)
    return { head, start, end: after(start) }
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
    return name === undefined || slot === undefined ? null : { name, capacity: 1, weight: 1, slot }
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
