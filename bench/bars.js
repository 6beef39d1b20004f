/**
 * What Holdfast must reach, as numbers. A bar is judged by all rounds together: reached or missed when the middle half
 * of the rounds lies on one side of it, unresolved when it lies across.
 *
 * @typedef {object} Bar
 * @property {string} store
 * @property {string} scenario
 * @property {string} case
 * @property {string} metric
 * @property {string} [adapter] 'holdfast' unless told
 * @property {string} [of] the figure is a ratio to this adapter's, round by round; 'best peer' for the best of each
 * round
 * @property {number} [atLeast]
 * @property {number} [atMost]
 */

/** @type {readonly Bar[]} */
const MEMORY = [
  { scenario: 'uncontended', case: 'c=1', metric: 'pairsPerS', of: 'async-mutex', atLeast: 0.8 },
  // The same bars by CPU time, which does not change when others use the machine: 1 / 0.8.
  { scenario: 'uncontended', case: 'c=1', metric: 'cpuUsPerPair', of: 'async-mutex', atMost: 1.25 },
  { scenario: 'tasks', case: 'n=1000', metric: 'cpuUsPerTask', of: 'async-mutex', atMost: 1.25 },
  { scenario: 'tasks', case: 'n=1000', metric: 'tasksPerS', of: 'async-mutex', atLeast: 0.8 },
  { scenario: 'tasks', case: 'n=1000', metric: 'inOrder', atLeast: 1 },
  { scenario: 'contended', case: 'n=100', metric: 'overlaps', atMost: 0 },
  { scenario: 'contended', case: 'n=100', metric: 'overlaps', adapter: 'holdfast-strict', atMost: 0 },
  { scenario: 'holds', case: 'n=100000', metric: 'timersPerLock', atMost: 0.001 },
  // A batch is 500 places; the last one of a turn may be smaller.
  { scenario: 'holds', case: 'n=100000', metric: 'placesPerTouch', atLeast: 475 },
  { scenario: 'holds', case: 'n=100000', metric: 'delayMs', atMost: 50 },
  { scenario: 'holds', case: 'n=100000', metric: 'lost', atMost: 0 },
  ...['c=1', 'c=16', 'c=256'].flatMap((tasks) => [
    { scenario: 'limiter', case: tasks, metric: 'takesPerS', of: 'rate-limiter-flexible', atLeast: 1 },
    { scenario: 'limiter', case: tasks, metric: 'cpuUsPerTake', of: 'rate-limiter-flexible', atMost: 1 },
  ]),
  // Compared with makers that never repeat an id; sapphire-snowflake does repeat ids.
  ...['flake-idgen', 'uuid-v7'].map((of) => ({
    scenario: 'ids',
    case: 'one process',
    metric: 'idsPerS',
    of,
    atLeast: 1,
  })),
  { scenario: 'ids', case: 'one process', metric: 'repeated', atMost: 0 },
].map((bar) => ({ store: 'memory', ...bar }))

/** @type {readonly Bar[]} */
const REDIS_LIMITS = ['c=1', 'c=16', 'c=256']
  .flatMap((tasks) => [
    { scenario: 'limiter', case: tasks, metric: 'takesPerS', of: 'rate-limiter-flexible-redis', atLeast: 1 },
    { scenario: 'limiter', case: tasks, metric: 'cpuUsPerTake', of: 'rate-limiter-flexible-redis', atMost: 1 },
  ])
  .map((bar) => ({ store: 'redis', ...bar }))

/** @type {readonly Bar[]} */
const SQLITE = [
  { scenario: 'uncontended', case: 'c=1', metric: 'pairsPerS', of: 'raw-sqlite', atLeast: 0.6 },
  { scenario: 'uncontended', case: 'c=16', metric: 'pairsPerS', of: 'raw-sqlite', atLeast: 0.6 },
  { scenario: 'uncontended', case: 'c=256', metric: 'pairsPerS', of: 'raw-sqlite', atLeast: 0.6 },
  { scenario: 'contended', case: 'n=10', adapter: 'holdfast-strict', metric: 'jain', atLeast: 0.98 },
  {
    scenario: 'contended',
    case: 'n=10',
    adapter: 'holdfast-strict',
    metric: 'handoversPerS',
    of: 'proper-lockfile',
    atLeast: 1,
  },
  {
    scenario: 'contended',
    case: 'n=10',
    adapter: 'holdfast-strict',
    metric: 'handoverP50Ms',
    of: 'raw-sqlite',
    atMost: 2,
  },
  { scenario: 'contended', case: 'n=10', adapter: 'holdfast-strict', metric: 'blockedMsP999', atMost: 25 },
  { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'overlaps', atMost: 0 },
  // Not here: idle waiting at most 22 store calls a second. The driver's own looks can't be counted.
  { scenario: 'recovery', case: 'killed, ttl 60 s', metric: 'recoveryMs', atMost: 300 },
].map((bar) => ({ store: 'sqlite', ...bar }))

/** @type {readonly Bar[]} */
const ZOOKEEPER = [
  { scenario: 'uncontended', case: 'c=1', metric: 'pairsPerS', of: 'raw-zookeeper', atLeast: 0.9 },
  { scenario: 'uncontended', case: 'c=16', metric: 'pairsPerS', of: 'raw-zookeeper', atLeast: 0.9 },
  ...['c=1', 'c=16', 'c=256'].map((tasks) => ({
    scenario: 'uncontended',
    case: tasks,
    adapter: 'raw-zookeeper',
    metric: 'pairsPerS',
    of: 'node-zookeeper-client',
    atLeast: 0.95,
  })),
  {
    scenario: 'contended',
    case: 'n=100',
    adapter: 'holdfast-strict',
    metric: 'handoversPerS',
    of: 'zk-recipe',
    atLeast: 1.3,
  },
  { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'jain', atLeast: 0.99 },
  { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'overlaps', atMost: 0 },
].map((bar) => ({ store: 'zookeeper', ...bar }))

/** @type {readonly Bar[]} */
const ETCD = [
  ...['c=1', 'c=16', 'c=256'].flatMap((tasks) => [
    { scenario: 'uncontended', case: tasks, metric: 'pairsPerS', of: 'raw-etcd', atLeast: 0.9 },
    { scenario: 'uncontended', case: tasks, metric: 'pairsPerS', of: 'etcd3', atLeast: 3 },
  ]),
  {
    scenario: 'contended',
    case: 'n=100',
    adapter: 'holdfast-strict',
    metric: 'handoversPerS',
    of: 'etcd3',
    atLeast: 10,
  },
  { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'jain', atLeast: 0.99 },
  { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'callsPerSection', atMost: 3 },
  { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'overlaps', atMost: 0 },
  // Entering, looking when it is told, leaving. Above that: a process's lease, and its first, failing try of the short
  // way.
  { scenario: 'herd', case: 'n=1000', adapter: 'holdfast-strict', metric: 'requestsPerHold', atMost: 3.05 },
  { scenario: 'holds', case: 'n=10000', metric: 'keepAlivesPerThird', atMost: 1 },
  { scenario: 'holds', case: 'n=10000', metric: 'lost', atMost: 0 },
].map((bar) => ({ store: 'etcd', ...bar }))

/** @type {readonly Bar[]} */
const REDIS = [
  // The same for locks that are used again and for locks made anew for every call, which is how most programs use them.
  ...[
    { tasks: 'c=1', own: 0.95, given: 0.9 },
    { tasks: 'c=16', own: 1.1, given: 0.9 },
    { tasks: 'c=256', own: 2.3, given: 2 },
  ].flatMap(({ tasks, own, given }) =>
    [tasks, `${tasks} fresh`].flatMap((name) => {
      const pairs = { scenario: 'uncontended', case: name, metric: 'pairsPerS', of: 'raw-ioredis' }
      return [
        { ...pairs, atLeast: own },
        { ...pairs, adapter: 'holdfast-ioredis', atLeast: given },
        { ...pairs, adapter: 'holdfast-ioredis5', atLeast: given },
      ]
    }),
  ),
  ...[
    { metric: 'handoversPerS', of: 'raw-push', atLeast: 0.9 },
    { metric: 'handoversPerS', of: 'best peer', atLeast: 5 },
    { metric: 'jain', atLeast: 0.99 },
    { metric: 'longestWaitMs', of: 'best peer', atMost: 0.1 },
    { metric: 'callsPerSection', atMost: 2.1 },
    { metric: 'overlaps', atMost: 0 },
  ].map((bar) => ({ scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', ...bar })),
  { scenario: 'tasks', case: 'n=1000', metric: 'tasksPerS', of: 'best peer', atLeast: 10 },
  { scenario: 'holds', case: 'n=10000', metric: 'callsPerS', atMost: 20 },
  // With many names: with few, the objects that the process made once are a tenth of the sum.
  { scenario: 'holds', case: 'n=100000', metric: 'heapBPerLock', atMost: 800 },
  { scenario: 'holds', case: 'n=10000', metric: 'storeBPerLock', atMost: 300 },
  { scenario: 'holds', case: 'n=10000', metric: 'lost', atMost: 0 },
  { scenario: 'idle', case: 'n=1000', metric: 'callsPerS', atMost: 5 },
  { scenario: 'idle', case: 'n=1000', adapter: 'holdfast-strict', metric: 'callsPerS', atMost: 5 },
].map((bar) => ({ store: 'redis', ...bar }))

// Hundreds of critical sections a second, where the package of that name makes none. Run it with three servers, and
// with five.
/** @type {readonly Bar[]} */
const REDLOCK = [
  ...['c=1', 'c=16', 'c=256'].map((tasks) => ({
    scenario: 'uncontended',
    case: tasks,
    metric: 'pairsPerS',
    of: 'raw-redlock',
    atLeast: 0.85,
  })),
  ...['n=10', 'n=100'].flatMap((clients) => [
    { scenario: 'contended', case: clients, metric: 'sectionsPerS', atLeast: 200 },
    { scenario: 'contended', case: clients, metric: 'jain', atLeast: 0.8 },
    { scenario: 'contended', case: clients, metric: 'overlaps', atMost: 0 },
  ]),
].map((bar) => ({ store: 'redlock', ...bar }))

/** Of the raw pair: calls of one turn are one statement, so the more callers, the fewer commits. */
const SQL_LEAST = { 'c=1': 0.75, 'c=16': 1.5, 'c=256': 3 }

/** @param {string} store @param {string} session the raw lock of a session @returns {readonly Bar[]} */
const sqlServer = (store, session) =>
  [
    ...Object.entries(SQL_LEAST).flatMap(([tasks, ofRaw]) => {
      const pairs = { scenario: 'uncontended', case: tasks, metric: 'pairsPerS' }
      return [
        { ...pairs, of: `raw-${store}`, atLeast: ofRaw },
        { ...pairs, case: `${tasks} fresh`, of: `raw-${store}`, atLeast: ofRaw },
        { ...pairs, of: `verrou-${store}`, atLeast: 1.3 },
        { ...pairs, adapter: `holdfast-${store}-session`, of: session, atLeast: 0.85 },
      ]
    }),
    {
      scenario: 'contended',
      case: 'n=100',
      adapter: 'holdfast-strict',
      metric: 'handoversPerS',
      of: `raw-${store}`,
      atLeast: 3,
    },
    { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'jain', atLeast: 0.99 },
    { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'callsPerSection', atMost: 3 },
    { scenario: 'contended', case: 'n=100', adapter: 'holdfast-strict', metric: 'overlaps', atMost: 0 },
    { scenario: 'holds', case: 'n=10000', metric: 'lost', atMost: 0 },
  ].map((bar) => ({ store, ...bar }))

/** Readers of one process share a place: the store must not be asked 2 000 times, and others must not feel it. */
const READERS = ['etcd', 'zookeeper', 'redlock', 'postgres'].flatMap((store) => [
  { store, scenario: 'readers', case: 'n=2000', metric: 'heldMs', atMost: 2_000 },
  { store, scenario: 'readers', case: 'n=2000', metric: 'otherRatio', atMost: 1.25 },
  { store, scenario: 'readers', case: 'n=2000', metric: 'lost', atMost: 0 },
])

/** People type a command, and crontabs run it: nobody may notice its start. */
const START = [
  ...['sqlite', 'redis'].map((store) => ({ store, case: 'run', metric: 'ms', of: 'node-alone', atMost: 3 })),
  { store: 'redis', case: 'first lock', metric: 'ms', atMost: 60 },
].map((bar) => ({ scenario: 'start', ...bar }))

/** A kept lock asks the store nothing, and gives way at once. */
const KEPT = ['memory', 'sqlite', 'redis', 'etcd', 'zookeeper', 'postgres', 'mysql'].flatMap((store) => [
  { store, scenario: 'kept', case: 'one process', metric: 'pairsPerS', atLeast: 300_000 },
  ...(store === 'memory' ? [] : [{ store, scenario: 'kept', case: 'one process', metric: 'wakeRatio', atMost: 2 }]),
])

/** A million locks of one process, kept alive beside its other work. */
const MILLION = ['memory', 'redis'].flatMap((store) => [
  { store, scenario: 'holds', case: 'n=1000000', metric: 'lost', atMost: 0 },
  { store, scenario: 'holds', case: 'n=1000000', metric: 'delayMs', atMost: 50 },
])

const GROWN = [
  ...['names', 'holds'].flatMap((row) => [10_000, 100_000, 1_000_000].map((size) => `${row} ${size}`)),
  ...['waiters', 'readers'].flatMap((row) => [100, 1_000, 10_000].map((size) => `${row} ${size}`)),
]

/** A lock costs the same however many others there are. */
const GROWTH = ['memory', 'sqlite', 'redis', 'redlock', 'etcd', 'zookeeper', 'postgres', 'mysql'].flatMap((store) =>
  GROWN.map((name) => ({ store, scenario: 'growth', case: name, metric: 'ofSmallest', atMost: 1.5 })),
)

/** @type {readonly Bar[]} */
export const bars = [
  ...MEMORY,
  ...SQLITE,
  ...REDIS,
  ...REDIS_LIMITS,
  ...ZOOKEEPER,
  ...ETCD,
  ...sqlServer('postgres', 'raw-advisory'),
  ...sqlServer('mysql', 'raw-getlock'),
  ...REDLOCK,
  ...READERS,
  ...START,
  ...KEPT,
  ...MILLION,
  ...GROWTH,
]
