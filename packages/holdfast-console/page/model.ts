/** What the page knows: one object that changes, and tells those who show it. */
import { useEffect, useState } from 'preact/hooks'
import type { All, Changes, Happening, Head, Point, Row } from '../src/wire.ts'
import { hear, type Link } from './feed.ts'

const EVENTS_MAX = 500
const POINTS_MAX = 900

export const model: {
  /** Rises with every change. */
  version: number
  link: Link
  head: Head | null
  rows: Map<string, Row>
  events: Happening[]
  points: Point[]
  /** What to add to this machine's clock to get the console's. */
  offsetMs: number
} = { version: 0, link: 'connecting', head: null, rows: new Map(), events: [], points: [], offsetMs: 0 }

const listeners = new Set<() => void>()

function changed(): void {
  model.version++
  for (const listener of listeners) listener()
}

function take(message: All | Changes): void {
  model.head = message
  model.offsetMs = message.atMs - Date.now()
  model.link = 'live'
}

export function start(): void {
  void hear({
    all: (message) => {
      take(message)
      model.rows = new Map(message.rows.map((row) => [row.name, row]))
      model.events = [...message.events]
      model.points = [...message.points]
      changed()
    },
    change: (message) => {
      take(message)
      for (const row of message.rows) model.rows.set(row.name, row)
      for (const name of message.gone) model.rows.delete(name)
      model.events = [...model.events, ...message.events].slice(-EVENTS_MAX)
      model.points = [...model.points, ...message.points].slice(-POINTS_MAX)
      changed()
    },
    link: (link) => {
      if (model.link === link) return
      model.link = link
      changed()
    },
  })
}

/** Shows the model again after every change; gives its version. */
export function useModel(): number {
  const [version, set] = useState(model.version)
  useEffect(() => {
    const listener = (): void => set(model.version)
    listeners.add(listener)
    listener()
    return () => {
      listeners.delete(listener)
    }
  }, [])
  return version
}

/** Now, by the clock of the console. */
export function nowMs(): number {
  return Date.now() + model.offsetMs
}

/** Shows times again every second. */
export function useTick(): number {
  const [at, set] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => set((n) => n + 1), 1_000)
    return () => clearInterval(timer)
  }, [])
  return at
}
