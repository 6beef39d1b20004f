/** What stands in a place's value: for people, and for whoever breaks the line. */
import type { Entry } from '../../driver.ts'

export interface PlaceValue {
  /** What its owner counts on; etcd may have granted more. */
  readonly ttlMs: number
  /** When it was entered, by its owner's wall clock: shown, never used to judge. */
  readonly at: number
  /** Not to be renewed any more. */
  readonly broken: boolean
  /** JSON, as the owner gave it. */
  readonly data: string
}

export function placeValue(entry: Pick<Entry, 'ttlMs' | 'data'>, at: number): Buffer {
  return Buffer.from(`{"ttlMs":${entry.ttlMs},"at":${at},"data":${entry.data}}`)
}

export function brokenValue(value: PlaceValue): Buffer {
  return Buffer.from(`{"ttlMs":${value.ttlMs},"at":${value.at},"broken":true,"data":${value.data}}`)
}

/** Another program may have written it: what can't be read says nothing. */
export function readPlaceValue(bytes: Uint8Array): PlaceValue {
  const { ttlMs, at, broken, data } = parse(Buffer.from(bytes).toString())
  return {
    ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 60_000,
    at: typeof at === 'number' ? at : 0,
    broken: broken === true,
    data: JSON.stringify(data ?? {}),
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}
