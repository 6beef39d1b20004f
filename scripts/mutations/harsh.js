/**
 * Ways to break the limiter and jobs that the run in harsh conditions must see:
 * packages/holdfast/test/kit/harsh.real.test.ts.
 */
const test = 'packages/holdfast/test/kit/harsh.real.test.ts'

export default [
  {
    rule: 'limiter batches',
    name: 'batch-handed-out-for-ever',
    says: 'what lies in the process is neither counted off nor lost in time: the limit is exceeded',
    file: 'packages/holdfast/src/kit/limiter/reserves.ts',
    find:
      'if (now >= reserve.untilMs) reserve.tokens = 0\n    if (cost <= reserve.tokens) {\n      reserve.tokens -= ' +
      'cost\n',
    replace: 'if (cost <= reserve.tokens) {\n',
    test,
    only: 'the limit holds',
  },
  {
    rule: 'once',
    name: 'outage-at-the-tick-is-the-end',
    says: 'a job whose store is away at the tick is not waited for in that period',
    edits: [
      {
        file: 'packages/holdfast/src/kit/once/once.ts',
        find: 'const waitMs = Math.max(1, endsAt - runtime.now())',
        replace: 'const waitMs = Math.max(1, endsAt - endsAt)',
      },
      {
        file: 'packages/holdfast/src/kit/once/once.ts',
        find: 'if (runtime.now() + retryMs >= endsAt) return',
        replace: 'if (runtime.now() + retryMs > 0) return',
      },
    ],
    test,
    only: 'away at every tick',
  },
  {
    rule: 'once',
    name: 'clock-ahead-is-not-told',
    says: 'a host whose clock is ahead silences the job everywhere, and nobody is told',
    file: 'packages/holdfast/src/kit/once/job.ts',
    find: 'if (last === undefined || last.dueMs <= untilMs) return',
    replace: 'if (last === undefined || last.dueMs >= 0) return',
    test,
    only: 'wrong by minutes',
  },
]
