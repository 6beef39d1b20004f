/** The value of a place's key: who owns the place, and data for people. */
import type { Entry } from '../../contract/driver.ts'
import { readObject } from '../view.ts'

export interface PlaceValue {
  /** The id of the entry that owns it; '' if nobody owns it any more, or another program does. */
  readonly id: string
  /** The ttl that its owner counts on; etcd may have granted more. */
  readonly ttlMs: number
  /** When it entered, by its owner's wall clock: for people, never used to judge. */
  readonly at: number
  /** The turn of the last change of its weight; 0: there was none. */
  readonly turn: number
  /** True: nobody may renew it any more. */
  readonly broken: boolean
  /** JSON, as the owner gave it. */
  readonly data: string
}

export function placeValue({ id, ttlMs, data }: Pick<Entry, 'id' | 'ttlMs' | 'data'>, at: number): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"at":${at},"data":${data}}`)
}

export function reweighedValue({ id, ttlMs, at, data }: Omit<PlaceValue, 'turn' | 'broken'>, turn: number): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"at":${at},"turn":${turn},"data":${data}}`)
}

export function brokenValue({ id, ttlMs, at, data }: PlaceValue): Buffer {
  return Buffer.from(`{"id":"${id}","ttlMs":${ttlMs},"at":${at},"broken":true,"data":${data}}`)
}

export function readPlaceValue(bytes: Uint8Array): PlaceValue {
  const { id, ttlMs, at, turn, broken, data } = readObject(Buffer.from(bytes).toString())
  return {
    id: typeof id === 'string' && /^[0-9a-f]+$/.test(id) ? id : '',
    ttlMs: typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 60_000,
    at: typeof at === 'number' ? at : 0,
    turn: typeof turn === 'number' ? turn : 0,
    broken: broken === true,
    data: JSON.stringify(data ?? {}),
  }
}
