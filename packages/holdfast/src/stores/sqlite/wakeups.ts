/** Whom to wake in this process: by place, and by line. */
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
