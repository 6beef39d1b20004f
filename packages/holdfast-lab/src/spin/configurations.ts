/** The worlds that Spin searches, and the simpler schemes that it must refute. The numbers: promela/world.pml. */

/** What Spin must find: nothing, or that this law is broken. */
export type Expected = 'none' | 'exclusion' | 'tokens'

export interface Configuration {
  readonly name: string
  /** What may happen in it, or what is wrong with it. */
  readonly about: string
  readonly defines: Readonly<Record<string, string | number | true>>
  readonly expected: Expected
  /** True: also check that nobody waits for ever when nothing more can happen. */
  readonly isCalm?: boolean
  /** It takes a while. */
  readonly isLarge?: boolean
}

const STALE = { RESTARTS: 1, COPY: 'STALE' }
const KEPT = { RESTARTS: 1, COPY: 'KEPT' }
const REPLACED = { RESTARTS: 1, COPY: 'EMPTY', REPLACES: 1 }
const GROWN = { SERVERS: 5, FIRST: 3, ADDS: 2 }
const EXCLUSION = { NO_TOKENS: true } as const

/** Three servers and two clients: part of `npm test`. */
export const SMALL: readonly Configuration[] = [
  {
    name: 'calm',
    about: 'nothing fails; everybody must be served',
    defines: { CALM: true },
    expected: 'none',
    isCalm: true,
  },
  {
    name: 'calm-crash',
    about: 'a client dies between any two steps; the other must be served when its votes have lapsed',
    defines: { CALM: true, CRASHES: 1, TICKS: 4 },
    expected: 'none',
    isCalm: true,
  },
  {
    name: 'tokens',
    about: 'a question is given up half-way, and asked again with the same id',
    defines: { ROUNDS: 3, MISSES: 1 },
    expected: 'none',
  },
  {
    name: 'tokens-lost',
    about: 'an answer is lost, and asked for again with the same id',
    defines: { ROUNDS: 3, LOSSES: 1 },
    expected: 'none',
  },
  {
    name: 'amnesia',
    about: 'a server restarts with an older copy of its data, in which its votes are not',
    defines: { ...EXCLUSION, ...STALE, ROUNDS: 1, TICKS: 3 },
    expected: 'none',
  },
]

/** Larger worlds: `npm run spin -- --deep`. */
export const DEEP: readonly Configuration[] = [
  {
    name: 'calm-twice',
    about: 'nothing fails; each client uses two ids, and must be served with both',
    defines: { CALM: true, ATTEMPTS: 2 },
    expected: 'none',
    isLarge: true,
    isCalm: true,
  },
  {
    name: 'calm-three',
    about: 'three clients, nothing fails',
    defines: { CALM: true, CLIENTS: 3 },
    expected: 'none',
    isLarge: true,
    isCalm: true,
  },
  {
    name: 'calm-five',
    about: 'five servers, nothing fails',
    defines: { CALM: true, SERVERS: 5 },
    expected: 'none',
    isLarge: true,
    isCalm: true,
  },
  {
    name: 'tokens-twice',
    about: 'each client uses two ids, one after the other',
    defines: { ATTEMPTS: 2, ROUNDS: 2, MISSES: 1 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'tokens-late',
    about: 'a question is given up half-way, and one of its requests comes late',
    defines: { ROUNDS: 2, MISSES: 1, LATE: 1 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'tokens-misses',
    about: 'two questions are given up half-way',
    defines: { ROUNDS: 3, MISSES: 2 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'tokens-late-lost',
    about: 'an answer is lost, a question is given up half-way, a request comes late',
    defines: { ROUNDS: 2, MISSES: 1, LOSSES: 1, LATE: 1 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'tokens-three',
    about: 'three clients, nothing is lost',
    defines: { CLIENTS: 3, ROUNDS: 2, SKEW: 2 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'tokens-five',
    about: 'five servers',
    defines: { SERVERS: 5, ROUNDS: 2 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'tokens-amnesia',
    about: 'a server forgets, and tokens rise by clocks that are right to within a lease, less one question',
    defines: { ...STALE, ROUNDS: 1, ATTEMPTS: 1, TTL: 3, PATIENCE: 1, TICKS: 4, PACE: 4, SKEW: 4 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'amnesia-rounds',
    about: 'a server restarts with an older copy; two questions each',
    defines: { ...EXCLUSION, ...STALE, ROUNDS: 2, TICKS: 3 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'restart-kept',
    about: 'a server restarts with all of its data',
    defines: { ...EXCLUSION, ...KEPT, ROUNDS: 2, TICKS: 3 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'replaced',
    about: 'a server loses its data and is taken in again as a new one',
    defines: { ...EXCLUSION, ...REPLACED, ROUNDS: 1, TICKS: 3 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'renewals',
    about: 'each hold is renewed once, while a server forgets',
    defines: { ...EXCLUSION, ...STALE, ROUNDS: 1, TICKS: 3, RENEWALS: 1 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'grown-first',
    about: 'three servers become five, one by one, until the first of the clients can hold no more; leases of one tick',
    defines: { ...EXCLUSION, ...GROWN, FIRST_HOLDS: true, ROUNDS: 1, TTL: 1, TICKS: 1 },
    expected: 'none',
    isLarge: true,
  },
  {
    name: 'grown-hasty',
    about: 'three servers become five, the second change waits for nothing, and new servers vote at once',
    defines: { ...EXCLUSION, ...GROWN, FIRST_HOLDS: true, FLAW_HASTY: true, FLAW_LOUD: true, ROUNDS: 1, TTL: 1 },
    expected: 'exclusion',
    isLarge: true,
  },
  {
    name: 'grown',
    about: 'three servers become five, one by one',
    defines: { ...EXCLUSION, ...GROWN, ROUNDS: 1, TICKS: 2 },
    expected: 'none',
    isLarge: true,
  },
]

/** Simpler schemes. Spin must find what is wrong with each of them. */
export const FLAWS: readonly Configuration[] = [
  {
    name: 'largest',
    about: 'the token is the largest of the answers, and is not written back',
    defines: { FLAW_LARGEST: true, ONLY_TOKENS: true, MISSES: 2, ROUNDS: 2 },
    expected: 'tokens',
  },
  {
    name: 'write-anywhere',
    about: 'the largest token is written back to any majority, also where the vote does not live',
    defines: { FLAW_WRITE_ANYWHERE: true, ONLY_TOKENS: true, MISSES: 1 },
    expected: 'tokens',
  },
  {
    name: 'no-silence',
    about: 'a server that restarted with an older copy of its data votes at once',
    defines: { FLAW_NO_SILENCE: true, ONLY_EXCLUSION: true, ...STALE, ROUNDS: 1 },
    expected: 'exclusion',
  },
  {
    name: 'loud',
    about: 'a server that lost its data is taken in again, and votes at once',
    defines: { FLAW_LOUD: true, ONLY_EXCLUSION: true, ...REPLACED, ROUNDS: 1 },
    expected: 'exclusion',
  },
  {
    name: 'no-marker',
    about: 'three servers become five, and no server knows it: each client counts those that it was given',
    defines: { FLAW_NO_MARKER: true, ONLY_EXCLUSION: true, SERVERS: 5, FIRST: 3, ROUNDS: 1 },
    expected: 'exclusion',
  },
]
