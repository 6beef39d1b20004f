/** The search of Wing and Gong with a memory, as Knossos and Porcupine do it: is there an order that a model allows? */

export interface Called {
  readonly call: number
  /** Infinity: it may have happened at any time since, or not at all. */
  readonly answered: number
}

/** @param step the state after an operation; null: it can't come now. States are compared by their texts. */
export function linearizes<T extends Called>(
  all: readonly T[],
  first: string,
  step: (state: string, op: T) => string | null,
): boolean {
  const ops = all.toSorted((a, b) => a.call - b.call)
  const dead = new Set<string>()
  const visit = (done: ReadonlySet<number>, from: number, state: string): boolean => {
    while (done.has(from)) from += 1
    const open: number[] = []
    let bound = Number.POSITIVE_INFINITY
    for (let at = from; at < ops.length && (ops[at] as T).call <= bound; at++) {
      if (done.has(at)) continue
      open.push(at)
      bound = Math.min(bound, (ops[at] as T).answered)
    }
    // All that must have happened has.
    if (bound === Number.POSITIVE_INFINITY) return true
    const key = `${from} ${[...done]
      .filter((at) => at > from)
      .toSorted((a, b) => a - b)
      .join()} ${state}`
    if (dead.has(key)) return false
    for (const at of open) {
      const after = (ops[at] as T).call <= bound ? step(state, ops[at] as T) : null
      if (after !== null && visit(new Set([...done].filter((other) => other >= from)).add(at), from, after)) return true
    }
    dead.add(key)
    return false
  }
  return visit(new Set(), 0, first)
}
