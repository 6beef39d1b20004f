/** Histories of Jepsen: a map a line, an operation is its `:invoke` and its completion. */
import type { Micros } from '../history/event.ts'
import { edn, type Edn, keyword } from './edn.ts'

/** An operation of one process. */
export interface JepsenOp {
  readonly process: number
  readonly f: string
  readonly call: Micros
  /** Infinity: never. */
  readonly answered: Micros
  /** ok: it happened. fail: it did not. info: nobody knows. */
  readonly type: 'ok' | 'fail' | 'info'
  /** What was asked for, and what came of it. */
  readonly asked: Edn
  readonly value: Edn
}

/** In the order of time; a call that comes at the moment of an answer was not after it. */
export function* jepsen(ops: readonly JepsenOp[], start: Micros, end: Micros): Generator<string> {
  const halves = ops.flatMap((op) => [
    { at: op.call, rank: 0, type: 'invoke', value: op.asked, op },
    { at: Math.min(op.answered, end + 1), rank: 1, type: op.type, value: op.value, op },
  ])
  halves.sort((a, b) => a.at - b.at || a.rank - b.rank)
  for (const [index, { at, type, value, op }] of halves.entries()) {
    yield edn({
      index,
      type: keyword(type),
      f: keyword(op.f),
      value,
      process: op.process,
      time: Math.round((at - start) * 1_000),
    })
  }
}
