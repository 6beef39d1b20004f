/** Time limits on what a foreign client does: it may queue a command for ever, and every call of a driver settles. */
import { StoreUnreachableError } from '../../contract/errors.ts'
import { Deadline, within as settledBy } from '../shared/deadline.ts'

interface Asked {
  readonly deadline: number
  readonly reject: (error: Error) => void
}

/**
 * One limit for all commands of a client. They are given in the order of their deadlines, so one timer serves them all.
 */
export class CommandDeadlines {
  readonly #ms: number
  readonly #where: string
  /** Those that are not settled, in the order in which they were asked. */
  readonly #asked = new Set<Asked>()
  readonly #deadline: Deadline

  constructor(ms: number, where: string) {
    this.#ms = ms
    this.#where = where
    this.#deadline = new Deadline(() => {
      this.#expire(performance.now())
      this.#deadline.set(this.#first()?.deadline ?? Number.POSITIVE_INFINITY)
    })
  }

  /**
   * Settles as the promise does, or rejects when the time is over; what the promise does later is nobody's concern.
   * `again` may give another promise to settle by, instead of an error.
   */
  limit<T>(promise: Promise<T>, again?: (error: unknown) => Promise<T> | null): Promise<T> {
    // By hand, with callbacks: a timer and a Promise.race for every command cost more than the command.
    return new Promise((resolve, reject) => {
      const asked: Asked = { deadline: performance.now() + this.#ms, reject }
      this.#asked.add(asked)
      this.#deadline.keepAlive(true)
      this.#deadline.set(asked.deadline)
      const onValue = (value: T): void => {
        this.#settle(asked)
        resolve(value)
      }
      const onError = (error: unknown): void => {
        this.#settle(asked)
        reject(error)
      }
      const onFirstError = (reason: unknown): void => {
        const next = again?.(reason) ?? null
        if (next === null) onError(reason)
        else next.then(onValue, onError)
      }
      promise.then(onValue, again === undefined ? onError : onFirstError)
    })
  }

  #settle(asked: Asked): void {
    if (this.#asked.delete(asked) && this.#asked.size === 0) this.#deadline.keepAlive(false)
  }

  #first(): Asked | undefined {
    return this.#asked.values().next().value
  }

  #expire(now: number): void {
    for (let first = this.#first(); first !== undefined && first.deadline <= now; first = this.#first()) {
      this.#settle(first)
      first.reject(late(this.#where, this.#ms))
    }
  }
}

/** The same for a single step, such as connecting. */
export function within<T>(promise: Promise<T>, ms: number, where: string): Promise<T> {
  return settledBy(promise, performance.now() + ms, () => late(where, ms))
}

function late(where: string, ms: number): StoreUnreachableError {
  return new StoreUnreachableError(`Redis at ${where} gave no answer within ${ms} ms`)
}
