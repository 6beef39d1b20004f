/** Something that reads what others wrote, and what it may do with any bytes at all. */
import { HoldfastError } from '../../holdfast/src/contract/errors.ts'

export interface Target {
  readonly name: string
  /** What is fed, in one phrase. */
  readonly says: string
  /** Inputs to begin with: right ones, which are then damaged. */
  readonly seeds: readonly Buffer[]
  /** Pieces that the format knows: what chance alone would not find. */
  readonly words: readonly string[]
  /** Whether it needs servers or files, and is too slow for `npm test`. */
  readonly slow?: boolean
  /** Before the first input. */
  open?(): Promise<void>
  /** Rejects with a Fault, or with whatever our code threw. */
  run(input: Buffer): void | Promise<void>
  close?(): Promise<void>
}

/** The target itself has seen something wrong: a leak, two answers for one input, a client that does not recover. */
export class Fault extends Error {}

/** A refusal that a user is promised: one of our own errors. Whatever else was thrown is a fault of ours. */
export function isTyped(error: unknown): boolean {
  return error instanceof HoldfastError
}

/** Runs what may refuse; gives what it gave, or undefined for a typed refusal. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isTyped(error)) return undefined
    throw error
  }
}

export async function attemptAsync<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isTyped(error)) return undefined
    throw error
  }
}

/** The input as text, with lone surrogates where it is no UTF-8: JavaScript's strings may have them. */
export function textOf(input: Buffer): string {
  return input.toString('utf8').replaceAll('\ufffd', '\ud800')
}

/** The input in pieces, as a network may deliver it: cut into `size` bytes each. */
export function* pieces(input: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < input.length; at += size) yield input.subarray(at, at + size)
}
