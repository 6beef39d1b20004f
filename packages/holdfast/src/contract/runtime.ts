/**
 * What core needs of the world: clocks, timers, randomness, a name. Core takes them from here and nowhere else, so that
 * a simulator can supply them.
 */

/** Ends a timer; harmless after the timer has fired. */
export type Cancel = () => void

/** Clocks, timers, randomness and a name. */
export interface Runtime {
  /** Milliseconds on a clock that never steps. */
  now(): number
  /** Milliseconds since 1970, on the clock that people set. */
  wallNow(): number
  /** Calls `fn` once, not before `ms` have passed. Only a timer with `keepAlive` keeps the process from ending. */
  after(ms: number, fn: () => void, keepAlive: boolean): Cancel
  /** 128 random bits, in hex. */
  randomId(): string
  /** A number from 0 up to 1, for jitter. */
  random(): number
  readonly host: string
  readonly pid: number
}
