/** What stands in a place's value: whose it is, and for people. */
import type { Entry } from '../../contract/driver.ts'

export interface PlaceValue {
  /** The id of the entry that it belongs to; '' when it belongs to nobody any more, or to another program. */
  readonly id: string
  /** What its owner counts on; etcd may have granted more. */
  readonly ttlMs: number
  /** When it was entered, by its owner's wall clock: shown, never used to judge. */
  readonly at: number
  /** Of the last change of its weight; 0: there was none. */
  readonly turn: number
  /** Not to be renewed any more. */
  readonly broken: boolean
  /** JSON, as the owner gave it. */
  readonly data: string
}

export function placeValue({ id, ttlMs, data }: Pick<Entry, 'id' | 'ttlMs' | 'data'>, at: number): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"at":${at},"data":${data}}`)
}

export function reweighedValue({ id, ttlMs, at, data }: PlaceValue, turn: number): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"at":${at},"turn":${turn},"data":${data}}`)
}

export function brokenValue({ id, ttlMs, at, data }: PlaceValue): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"at":${at},"broken":true,"data":${data}}`)
}

/** Another program may have written it: what can't be read says nothing. */
export function readPlaceValue(bytes: Uint8Array): PlaceValue {
  const { id, ttlMs, at, turn, broken, data } = parse(Buffer.from(bytes).toString())
  return {
    id: typeof id === 'string' && /^[0-9a-f]+$/.test(id) ? id : '',
    ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 60_000,
    at: typeof at === 'number' ? at : 0,
    turn: typeof turn === 'number' ? turn : 0,
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
