/** How a waiter of this process is told that it may look again: one list of watchers for each file. */
import type { Push, Stop, Wake } from 'holdfast'

export class Watchers {
  readonly #places = new Map<string, Wake>()
  readonly #lines = new Map<string, Set<Wake>>()

  add(line: string, id: string | null, wake: Wake): Stop {
    if (id !== null) {
      this.#places.set(id, wake)
      return () => this.#places.delete(id)
    }
    const wakes = this.#lines.get(line) ?? new Set()
    this.#lines.set(line, wakes.add(wake))
    return () => wakes.delete(wake)
  }

  wake(id: string, push?: Push): void {
    this.#places.get(id)?.(push)
  }

  wakeLine(line: string): void {
    for (const wake of this.#lines.get(line) ?? []) wake()
  }
}

const watchers = new Map<string, Watchers>()

export function watchersOf(path: string): Watchers {
  const known = watchers.get(path) ?? new Watchers()
  watchers.set(path, known)
  return known
}
