/**
 * For Knossos, with its model `mutex`: one mutex, acquired and released. A lease that ended, or that the store forgot,
 * is a release of a process of its own that nobody heard the answer of: it may happen at any time from then on.
 */
import type { Trial } from '../checker/trial.ts'
import { jepsen } from './jepsen.ts'
import { operationsOf } from './operations.ts'

export function knossos(trial: Trial, line: string): Generator<string> {
  const ops = operationsOf(trial).filter((operation) => operation.line === line)
  return jepsen(
    ops.map(({ op, client, call, answered, outcome }) => ({
      process: client,
      f: op,
      call,
      answered,
      type: outcome === 'unknown' ? 'info' : outcome,
      asked: null,
      value: null,
    })),
    trial.start,
    trial.end,
  )
}
