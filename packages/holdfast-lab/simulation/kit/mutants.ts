/** Planted faults: each is a patch to the real source, by name, that the simulation of limits and jobs must find. */
import type { Mutant } from '../locks/mutants.ts'

const RESERVES = 'packages/holdfast/src/kit/limiter/reserves.ts'
const ONCE = 'packages/holdfast/src/kit/once/once.ts'
const JOB = 'packages/holdfast/src/kit/once/job.ts'

export const MUTANTS: Mutant[] = [
  {
    name: 'what lies in the process is neither counted off nor lost in time',
    file: RESERVES,
    find:
      'if (now >= reserve.untilMs) reserve.tokens = 0\n    if (cost <= reserve.tokens) {\n      ' +
      'reserve.tokens -= cost\n',
    replace: 'if (cost <= reserve.tokens) {\n',
  },
  {
    name: 'an answer that comes later than holdMs serves nobody',
    file: RESERVES,
    find: '    const { callers } = reserve\n    while (callers.length > 0 && (callers[0]',
    replace:
      '    const { callers } = reserve\n    if (this.#runtime.now() >= reserve.untilMs) reserve.tokens = 0\n    ' +
      'while (callers.length > 0 && (callers[0]',
  },
  {
    name: 'a period is run again by who comes later',
    file: JOB,
    find: 'const isOpen = last === undefined || last.dueMs < dueMs',
    replace: 'const isOpen = last === undefined || last.dueMs <= dueMs',
  },
  {
    name: 'who is told nothing of the tick by the store does not ask again in that period',
    file: ONCE,
    find: 'if (began || !(isTransient(error) || error instanceof LockLostError)) return',
    replace: 'if (began || isTransient(error) || error instanceof LockLostError) return',
  },
  {
    name: 'a period that begins while the one before is still tried is lost',
    file: ONCE,
    find: 'else if (!this.#isAtWork) this.#dueMs = dueMs',
    replace: 'else if (this.#stopped) this.#dueMs = dueMs',
  },
  {
    name: 'a clock that is ahead silences the job without a word',
    file: JOB,
    find: 'if (last === undefined || last.dueMs <= untilMs) return',
    replace: 'if (last === undefined || last.dueMs >= 0) return',
  },
]
