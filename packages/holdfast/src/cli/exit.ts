/** How the command line ends: the exit codes, and which error means which. */
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import {
  AcquireTimeoutError,
  CapacityMismatchError,
  HoldfastError,
  LockLostError,
  MissingClientError,
  OutcomeUnknownError,
  StoreError,
  UnsupportedError,
  UsageError,
} from '../contract/errors.ts'
import { complain } from './output.ts'

interface ExitCodes {
  readonly ok: number
  /** The command line, a name, or the store's URL is wrong. */
  readonly usage: number
  /** The store can't be reached or can't be used. */
  readonly unavailable: number
  readonly internal: number
  /** Others have the lock. */
  readonly notAcquired: number
  readonly lost: number
  /** The time of --max-hold is over: the code of timeout(1). */
  readonly over: number
  readonly cannotRun: number
  readonly notFound: number
}

export const EXIT: ExitCodes = Object.freeze({
  ok: 0,
  usage: 64,
  unavailable: 69,
  internal: 70,
  notAcquired: 75,
  lost: 79,
  over: 124,
  cannotRun: 126,
  notFound: 127,
})

/** As in shells: 128 and the number of the signal. */
export function signalExit(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/** The code of a program that has ended: its own, or that of the signal that ended it. */
export function programExit(code: number | null, signal: NodeJS.Signals | null): number {
  return signal === null ? (code ?? EXIT.internal) : signalExit(signal)
}

/** Says why a program could not be started; `code` is that of the error. */
export function unstartedExit(file: string, code: string): number {
  // ENOENT also comes for a script whose interpreter is missing: that script was found, and can't be run.
  const isMissing = code === 'ENOENT' && !(file.includes('/') && existsSync(file))
  complain(`${isMissing ? 'there is no program' : "can't run"} ${JSON.stringify(file)}: ${code}`)
  return isMissing ? EXIT.notFound : EXIT.cannotRun
}

export function errorExit(error: unknown): number {
  if (error instanceof UsageError || error instanceof UnsupportedError || error instanceof CapacityMismatchError) {
    return EXIT.usage
  }
  if (error instanceof StoreError || error instanceof MissingClientError || error instanceof OutcomeUnknownError) {
    return EXIT.unavailable
  }
  // torture or lab could not start a server: it is not installed, or it does not serve.
  if (error instanceof HoldfastError && error.code === 'HF_TESTBED') return EXIT.unavailable
  if (error instanceof AcquireTimeoutError) return EXIT.notAcquired
  if (error instanceof LockLostError) return EXIT.lost
  return EXIT.internal
}

/** The one line that people read of an error. Only HOLDFAST_DEBUG shows causes. */
export function errorText(error: unknown): string {
  if (error instanceof HoldfastError) return error.message
  const text = error instanceof Error ? error.message : String(error)
  return `internal error: ${text} (HOLDFAST_DEBUG=1 shows where)`
}
