/** Whom to wake in this process, by place and by line, and the messages that processes send each other. */
import type { Push, Stop, Wake } from '../../contract/driver.ts'

export class LocalWakeups {
  readonly #wakes = new Map<string, Wake>()
  readonly #observers = new Map<string, Set<Wake>>()
  readonly #observing: () => void

  constructor(observing: () => void) {
    this.#observing = observing
  }

  get hasObservers(): boolean {
    return this.#observers.size > 0
  }

  has(id: string): boolean {
    return this.#wakes.has(id)
  }

  watch(id: string, wake: Wake): Stop {
    this.#wakes.set(id, wake)
    return () => {
      if (this.#wakes.get(id) === wake) this.#wakes.delete(id)
    }
  }

  observe(line: string, wake: Wake): Stop {
    const wakes = this.#observers.get(line) ?? new Set()
    this.#observers.set(line, wakes.add(wake))
    this.#observing()
    return () => {
      wakes.delete(wake)
      if (wakes.size === 0 && this.#observers.get(line) === wakes) this.#observers.delete(line)
    }
  }

  wake(id: string, push: Push | undefined): void {
    this.#wakes.get(id)?.(push)
  }

  /** Something has changed in this line; null: in some line. */
  changed(line: string | null): void {
    if (this.#observers.size === 0) return
    const all = line === null ? [...this.#observers.values()] : [this.#observers.get(line) ?? new Set<Wake>()]
    for (const wakes of all) for (const wake of wakes) wake()
  }
}

/** What one process tells another: a place is granted, or to be looked at; or somebody waits in a line held there. */
export type Told = { readonly id: string; readonly token: number | null } | { readonly line: string }

/** Processes of an earlier version read the first two, and find no place of theirs in the second kind. */
export function messageOf(told: Told): string {
  return JSON.stringify('line' in told ? ['', null, told.line] : [told.id, told.token])
}

/** Whoever may write in the folder may ring: what is not of our making wakes nobody. */
export function parseMessage(message: string): Told {
  const nobody = { id: '', token: null }
  try {
    const value: unknown = JSON.parse(message)
    if (!Array.isArray(value)) return nobody
    const [id, token, line] = value as unknown[]
    if (typeof line === 'string') return { line }
    if (typeof id !== 'string') return nobody
    return { id, token: typeof token === 'number' && Number.isSafeInteger(token) ? token : null }
  } catch (error) {
    if (error instanceof SyntaxError) return nobody
    throw error
  }
}
