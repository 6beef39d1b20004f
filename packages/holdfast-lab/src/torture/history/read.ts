/** Reads histories back, and merges the parts of several processes into one. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from 'holdfast'
import type { HistoryEvent } from './event.ts'

const NEWLINE = 0x0a

/** A history as a file has it. A last line that was cut off by a kill is left out. */
export function readHistory(file: string): HistoryEvent[] {
  return parseHistory(readFileSync(file), file)
}

export function parseHistory(bytes: Buffer, name = 'the history'): HistoryEvent[] {
  const events: HistoryEvent[] = []
  let at = 0
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, at)) {
    const text = bytes.toString('utf8', at, end)
    at = end + 1
    if (text !== '') events.push(parseEvent(text, name, events.length + 1))
  }
  return events
}

function parseEvent(text: string, name: string, line: number): HistoryEvent {
  try {
    const event = JSON.parse(text) as HistoryEvent
    if (typeof event.e === 'string' && typeof event.t === 'number') return event
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new UsageError(`${name}, line ${line}: not an event of a history: ${JSON.stringify(text.slice(0, 80))}`)
}

/**
 * Merges the parts in a folder into one file, by time. Each part is in its own order already, and stays so: events of
 * one part with equal stamps keep their order, as does the referee's order of effects.
 */
export function mergeHistories(folder: string, file: string): HistoryEvent[] {
  const parts = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const events = parts.flatMap((name) => readHistory(join(folder, name)))
  events.sort((a, b) => a.t - b.t)
  writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  return events
}
