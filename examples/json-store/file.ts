/** The file: lines, dead ids and cells as JSON. A new file takes the place of the old one in one step. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'

export interface StoredPlace {
  readonly id: string
  readonly line: string
  readonly token: number
  readonly weight: number
  readonly ttlMs: number
  readonly data: string
  readonly enteredAt: number
  lapsesAt: number
  granted: boolean
  /** Not renewed any more: it weighs until its lease has run out. */
  broken: boolean
  /** Counts the changes of its weight: a request with a lower one comes too late. */
  turn: number
}

export interface Line {
  readonly capacity: number
  places: StoredPlace[]
  /** The place that has become heavier than it was entered (an upgrade), and the last token that was granted then. */
  raised: { readonly id: string; readonly weight: number; readonly beside: number } | null
}

export interface Cell {
  readonly version: number
  readonly value: string | null
  readonly nonce: string
  readonly lapsesAt: number | null
}

export interface State {
  /** One counter for all lines: tokens rise also across an empty line and a restart. */
  counter: number
  readonly lines: Map<string, Line>
  /** Ids that may not come back, and until when. */
  readonly dead: Map<string, number>
  readonly cells: Map<string, Cell>
}

export function openFile(path: string): { readonly state: State; save(): void } {
  const state = read(path)
  return {
    state,
    save() {
      const { counter, lines, dead, cells } = state
      writeFileSync(`${path}.new`, JSON.stringify({ counter, lines: [...lines], dead: [...dead], cells: [...cells] }))
      renameSync(`${path}.new`, path)
    },
  }
}

function read(path: string): State {
  const text = textOf(path)
  if (text === null) return { counter: 0, lines: new Map(), dead: new Map(), cells: new Map() }
  const { counter, lines, dead, cells } = JSON.parse(text) as {
    readonly counter: number
    readonly lines: [string, Line][]
    readonly dead: [string, number][]
    readonly cells: [string, Cell][]
  }
  return { counter, lines: new Map(lines), dead: new Map(dead), cells: new Map(cells) }
}

/** null: there is no file yet. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
