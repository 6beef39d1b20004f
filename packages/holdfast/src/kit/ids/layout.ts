/**
 * The parts of an id: milliseconds since an epoch, the worker, and a number within the millisecond. At most 63 bits.
 */
import { checkKeys, checkWhole, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'

/** Options of `ids`: the parts of an id. */
export interface IdsOptions {
  /** Ids of one name never repeat; ids of different names may be equal. Default 'ids'; 1 to 200 bytes. */
  readonly name?: string
  /** Bits for the milliseconds since `epochMs`. Default 41: 69 years; 32 to 52. */
  readonly timeBits?: number
  /** Bits for the worker: how many processes can make ids at a time. Default 10: 1 024; 1 to 20. */
  readonly workerBits?: number
  /** Bits for the number within a millisecond. Default 12: 4 096; 1 to 22. All three together at most 63. */
  readonly sequenceBits?: number
  /** When time begins, in milliseconds since 1970. Default 1 704 067 200 000 (2024-01-01); not in the future. */
  readonly epochMs?: number
  /** The lease of the worker number. Default: that of the instance. */
  readonly ttlMs?: number
}

export interface Layout {
  readonly timeBits: number
  readonly workerBits: number
  readonly sequenceBits: number
  readonly epochMs: number
}

/** The parts of an id. */
export interface IdParts {
  /** When the id was made, in milliseconds since 1970. */
  readonly timeMs: number
  /** The worker number of the process that made the id. */
  readonly worker: number
  /** The number of the id within its millisecond. */
  readonly sequence: number
}

const EPOCH_MS = 1_704_067_200_000
const BITS_MAX = 63
const YEAR_MS = 365.2425 * 86_400_000

export function resolveLayout(options: IdsOptions | undefined, wallMs: number): Layout {
  const keys = ['name', 'timeBits', 'workerBits', 'sequenceBits', 'epochMs', 'ttlMs']
  const given = checkKeys('ids options', options, keys)
  const bits = (key: string, otherwise: number, min: number, max: number): number =>
    given[key] === undefined ? otherwise : checkWhole(key, given[key], min, max)
  const layout = {
    timeBits: bits('timeBits', 41, 32, 52),
    workerBits: bits('workerBits', 10, 1, 20),
    sequenceBits: bits('sequenceBits', 12, 1, 22),
    epochMs: bits('epochMs', EPOCH_MS, 0, Number.MAX_SAFE_INTEGER),
  }
  const sum = layout.timeBits + layout.workerBits + layout.sequenceBits
  if (sum > BITS_MAX) {
    throw new UsageError(`timeBits, workerBits and sequenceBits must make at most ${BITS_MAX} together, given ${sum}`)
  }
  if (layout.epochMs > wallMs) throw new UsageError(`epochMs must not be in the future, given ${shown(layout.epochMs)}`)
  if (endMs(layout) <= wallMs) {
    throw new UsageError(`${layout.timeBits} bits of milliseconds since epochMs ${layout.epochMs} have run out already`)
  }
  return Object.freeze(layout)
}

/** The first millisecond since 1970 for which there is no id. */
export function endMs({ epochMs, timeBits }: Layout): number {
  return epochMs + 2 ** timeBits
}

export function yearsLeft(layout: Layout, wallMs: number): number {
  return Math.max(0, endMs(layout) - wallMs) / YEAR_MS
}

/** The layout as text. All processes that make ids of one name must agree on it. */
export function layoutText({ timeBits, workerBits, sequenceBits, epochMs }: Layout): string {
  return `${timeBits}/${workerBits}/${sequenceBits} bits since ${epochMs}`
}

/** The first id of a worker in a millisecond. */
export function firstId({ epochMs, workerBits, sequenceBits }: Layout, timeMs: number, worker: number): bigint {
  return ((BigInt(timeMs - epochMs) << BigInt(workerBits)) | BigInt(worker)) << BigInt(sequenceBits)
}

export function partsOf({ epochMs, timeBits, workerBits, sequenceBits }: Layout, id: bigint | string): IdParts {
  const whole = typeof id === 'string' && /^\d{1,19}$/.test(id) ? BigInt(id) : id
  if (typeof whole !== 'bigint' || whole < 0n || whole >> BigInt(timeBits + workerBits + sequenceBits) !== 0n) {
    throw new UsageError(`an id must be a bigint or its decimal text, as next() gives it, given ${shown(id)}`)
  }
  return {
    timeMs: epochMs + Number(whole >> BigInt(workerBits + sequenceBits)),
    worker: Number(BigInt.asUintN(workerBits, whole >> BigInt(sequenceBits))),
    sequence: Number(BigInt.asUintN(sequenceBits, whole)),
  }
}
