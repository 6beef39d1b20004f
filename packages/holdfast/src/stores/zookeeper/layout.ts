/** Where lines stand in ZooKeeper's tree, and what the names of their nodes say. */
import type { Entry } from '../../contract/driver.ts'
import { escapeName, unescapeName } from './names.ts'
import { decodeNode, encodeNode } from './node-data.ts'
import type { Raise } from './raise.ts'

/** One place, as its node's name tells. */
export interface Named {
  readonly name: string
  readonly id: string
  readonly weight: number
  readonly capacity: number
  /** Rises along the line. The number the server put behind the name, or where that can't be trusted the czxid. */
  readonly order: number
  /** It has become heavier since. */
  readonly raise?: Raise
}

export interface Layout {
  /** What holds the lines, for `list`; null: they can be anywhere. */
  readonly root: string | null
  /** Whether the nodes of lines are ours to write to. */
  readonly ownsLines: boolean
  /** Whether the nodes above a line are containers, too. */
  readonly containers: boolean
  /** The node whose children are the places of the line. */
  linePath(line: string): string
  /** The line of a child of `root`; null: it is not ours. */
  lineName(child: string): string | null
  /** The node to be created; the server adds its number. */
  placePath(linePath: string, entry: Entry): string
  /** null: it is not a place. */
  parse(name: string): Named | null
  /** Where word to the one that has the whole line stands, see wakeups-breaks.ts. null: in the data of its node. */
  breakPath(linePath: string): string | null
  /** A node's data with the mark of `break`. */
  marked(data: Buffer): Buffer
  /** Whether the one that made this node heeds such a mark. */
  hears(name: string): boolean
}

const PLACE = /^p-([0-9a-f]{32})-(\d{1,7})-(\d{1,7})-(-?\d{10,})$/

/** `/<prefix>/lines/<line>/p-<id>-<weight>-<capacity>-<number>` */
export class LineLayout implements Layout {
  readonly root: string
  readonly ownsLines = true
  readonly containers = false
  readonly #breaks: string

  constructor(prefix: string) {
    this.root = `/${escapeName(prefix)}/lines`
    this.#breaks = `/${escapeName(prefix)}/breaks`
  }

  linePath(line: string): string {
    return `${this.root}/${escapeName(line)}`
  }

  lineName(child: string): string | null {
    return unescapeName(child)
  }

  placePath(linePath: string, entry: Entry): string {
    return `${linePath}/p-${entry.id}-${entry.weight}-${entry.capacity}-`
  }

  parse(name: string): Named | null {
    const match = PLACE.exec(name)
    if (match === null) return null
    const [, id = '', weight, capacity, number] = match
    return { name, id, weight: Number(weight), capacity: Number(capacity), order: Number(number) }
  }

  breakPath(linePath: string): string {
    return this.#breaks + linePath.slice(this.root.length)
  }

  marked(data: Buffer): Buffer {
    return encodeNode({ ...decodeNode(data), broken: true })
  }

  hears(): boolean {
    return true
  }
}
