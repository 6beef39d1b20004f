/** What a checker has found. */
import type { Micros } from '../history/event.ts'
import type { Trial } from './trial.ts'

/** The rules, in the order in which they are reported. */
export const RULES = [
  'exclusion',
  'served-early',
  'effects',
  'tokens',
  'owner',
  'honest-loss',
  'given-up',
  'lost-lock',
  'stands-still',
  'left-behind',
  'waiters',
  'fairness',
  'overtaking',
  'wake-ups',
  'order',
  'model',
] as const

export type Rule = (typeof RULES)[number]

/** What each rule says, for people. */
export const RULE_TEXT: Readonly<Record<Rule, string>> = {
  exclusion: 'no more hold at once than the line carries',
  'served-early': 'a line that was broken is given on when the lease has run out, not earlier',
  effects: 'what checks tokens is never touched by two at once',
  tokens: 'tokens rise in the order of exclusive holds',
  owner: 'only the owner releases',
  'honest-loss': 'nothing is begun after the own deadline',
  'given-up': 'who has given up is given nothing',
  'lost-lock': 'every line is served again after the faults',
  'stands-still': 'where somebody waits, somebody acts or is served',
  'left-behind': 'nothing stays in the store',
  waiters: 'every wait ends, every process stops',
  fairness: 'no waiter is passed over again and again',
  overtaking: 'no reader that comes later is served before a writer that waits',
  'wake-ups': 'a release wakes the next, not everybody',
  order: 'there is an order of events that explains each line',
  model: 'the model of a line explains what everybody was told',
}

export interface Finding {
  readonly rule: Rule
  readonly line: string
  readonly at: Micros
  readonly message: string
  /** The processes it is about. */
  readonly processes: readonly string[]
  /** What happened in the line around it, one event each; absent: the message says all. */
  readonly around?: readonly string[]
}

/** A violation breaks a promise. An exposure is what the store says may happen, and what a token is there to stop. */
export interface Findings {
  readonly violations: Finding[]
  readonly exposures: Finding[]
}

export type Checker = (trial: Trial) => Findings

export function none(): Findings {
  return { violations: [], exposures: [] }
}
