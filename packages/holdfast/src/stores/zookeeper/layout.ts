/** Where lines are in ZooKeeper's tree, and what the names of their nodes say. */
import type { Entry } from '../../contract/driver.ts'
import { escapeName, unescapeName } from './names.ts'
import { decodeNode, encodeNode } from './node-data.ts'
import type { Raise } from './raise.ts'

/** One place, as the name of its node says. */
export interface Named {
  readonly name: string
  readonly id: string
  readonly weight: number
  readonly capacity: number
  /**
   * Rises along the line. The number that the server put behind the name, or the czxid if that number can't be trusted.
   */
  readonly order: number
  /** Set if the place has become heavier since. */
  readonly raise?: Raise
}

export interface Layout {
  /** The node above all lines, for `list`; null: lines can be anywhere. */
  readonly root: string | null
  /** Whether we may write to the nodes of lines. */
  readonly ownsLines: boolean
  /** Whether the nodes above a line are containers, too. */
  readonly containers: boolean
  /** The node whose children are the places of the line. */
  linePath(line: string): string
  /** The line of a child of `root`; null: it is not ours. */
  lineName(child: string): string | null
  /** The node to create; the server adds its number. */
  placePath(linePath: string, entry: Entry): string
  /** null: it is not a place. */
  parse(name: string): Named | null
  /**
   * The node with word to the holder of the whole line, see wakeups-breaks.ts. null: the word is in the data of its
   * node.
   */
  breakPath(linePath: string): string | null
  /** A node's data with the mark of `break`. */
  marked(data: Buffer): Buffer
  /** Whether the program that made this node heeds such a mark. */
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
