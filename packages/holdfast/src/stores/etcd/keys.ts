/**
 * Holdfast's keys in etcd:
 *
 *     <prefix>/line/<name>/<capacity>/<weight>/<slot>  a place, on its process's lease; its value names the owner
 *     <prefix>/raised/<name>                           which of its places is heavier than its key says, and for whom
 *     <prefix>/cell/<name>                             a cell
 *     <prefix>/key/<name>                              a lock of the fixed-key recipe
 *     <prefix>/bell                                    the name of the line that was broken last
 *
 * Weight and capacity are part of the key, so that a look needs no values. In names `/`, `%` and control characters are
 * percent-encoded: no name's keys lie within those of another, and a prefix of a name is a prefix of its key.
 */
import { checkText } from '../../contract/check.ts'
import { StoreError, UsageError } from '../../contract/errors.ts'
import type { Entry } from '../../contract/driver.ts'

const KINDS = ['line', 'raised', 'cell', 'key', 'bell']

/** What the key of a place says. */
export interface PlaceKey {
  readonly name: string
  readonly capacity: number
  readonly weight: number
  /** Made from the id of the first place that had this key. */
  readonly slot: string
}

/** The keys from `start` up to, and without, `end`. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer
}

/** The keys of one line. */
export interface LineKeys extends KeyRange {
  readonly head: string
}

// '0' is the character after '/': a range up to it holds every key that begins with what stands before.
const AFTER_SLASH = '0'

/** How lines are laid out in keys: Holdfast's own way, or a layout that is shared with other programs. */
export interface Keys {
  /** null: this layout has no bell. */
  readonly bell: Buffer | null
  line(name: string): LineKeys
  /** The key that says which place of this line is raised. */
  raised(name: string): Buffer
  /** The same keys of all lines whose names begin with the prefix. */
  raisedLines(prefix: string): KeyRange
  cell(name: string): Buffer
  /** All lines whose names begin with the prefix. */
  lines(prefix: string): KeyRange
  /** What a key in a line says; null: it is no place. */
  read(key: Uint8Array): PlaceKey | null
  /** A key for a place, named after its id. */
  place(line: LineKeys, share: Share): string
  /** The weight of a place in a line, from its key. */
  weight(key: string): number
  /** Keys of the line outside of these bounds have another capacity; null: there is only one capacity. */
  capacityBounds(line: LineKeys, capacity: number): KeyRange | null
}

type Share = Pick<Entry, 'capacity' | 'weight' | 'id'>

/** Keys under a prefix of their own. */
export class LineLayout implements Keys {
  readonly bell: Buffer
  readonly #line: string
  readonly #raised: string
  readonly #cell: string

  constructor(prefix: string) {
    this.#line = `${prefix}/line/`
    this.#raised = `${prefix}/raised/`
    this.#cell = `${prefix}/cell/`
    this.bell = Buffer.from(`${prefix}/bell`)
  }

  line(name: string): LineKeys {
    const stem = this.#line + escapeName(name)
    const head = `${stem}/`
    return { head, start: Buffer.from(head), end: Buffer.from(stem + AFTER_SLASH) }
  }

  raised(name: string): Buffer {
    return Buffer.from(this.#raised + escapeName(name))
  }

  raisedLines(prefix: string): KeyRange {
    const start = this.raised(prefix)
    return { start, end: after(start) }
  }

  cell(name: string): Buffer {
    return Buffer.from(this.#cell + escapeName(name))
  }

  lines(prefix: string): KeyRange {
    const start = Buffer.from(this.#line + escapeName(prefix))
    return { start, end: after(start) }
  }

  read(key: Uint8Array): PlaceKey | null {
    const text = Buffer.from(key.buffer, key.byteOffset, key.length).toString()
    if (!text.startsWith(this.#line)) return null
    const [name, capacity, weight, slot, ...more] = text.slice(this.#line.length).split('/')
    if (name === undefined || slot === undefined || slot === '' || more.length > 0) return null
    const place = { name: unescapeName(name), capacity: Number(capacity), weight: Number(weight), slot }
    return place.capacity >= 1 && place.weight >= 1 ? place : null
  }

  place(line: LineKeys, { capacity, weight, id }: Share): string {
    return `${line.head}${capacity}/${weight}/${id}`
  }

  weight(key: string): number {
    const idAt = key.lastIndexOf('/')
    const weight = Number(key.slice(key.lastIndexOf('/', idAt - 1) + 1, idAt))
    if (Number.isInteger(weight) && weight >= 1) return weight
    throw new StoreError(
      `etcd: Holdfast did not write ${JSON.stringify(key)}, which stands in the queue of a lock; remove it`,
    )
  }

  capacityBounds(line: LineKeys, capacity: number): KeyRange {
    const stem = line.head + capacity
    return { start: Buffer.from(`${stem}/`), end: Buffer.from(stem + AFTER_SLASH) }
  }
}

export function checkPrefix(prefix: unknown): string {
  const text = checkText('prefix', prefix, 128)
  if (text === '') throw new UsageError('prefix must be 1 to 128 bytes, given ""')
  // Prefix "a" has its lines in a/line/…, so a prefix "a/line" would write into them.
  const bad = text.split('/').find((part) => KINDS.includes(part))
  if (bad !== undefined) throw new UsageError(`prefix must not have a part named ${bad}, given ${JSON.stringify(text)}`)
  return text
}

/** Whether a key, or the beginning of a key, is among those that Holdfast keeps under this prefix. */
export function isOwn(prefix: string, key: string): boolean {
  return KINDS.some((kind) => `${key}/`.startsWith(`${prefix}/${kind}/`))
}

/** The first key after all that begin with these bytes. */
export function after(start: Buffer): Buffer {
  const end = Buffer.from(start)
  // A UTF-8 byte is never 0xff.
  end[end.length - 1] = (end[end.length - 1] as number) + 1
  return end
}

const UNSAFE = /[%/\p{Cc}]/gu

export function escapeName(name: string): string {
  return name.replace(UNSAFE, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}

export function unescapeName(text: string): string {
  return text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
