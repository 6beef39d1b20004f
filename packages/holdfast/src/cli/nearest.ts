/** Finds what somebody meant to type. */

/**
 * The candidate nearest to `word`, or null if none is near enough to propose: one slip in a short word, two in a longer
 * word. A wrong guess is worse than none. Dashes in front are no letters of the word.
 */
export function nearest(word: string, candidates: readonly string[]): string | null {
  let best: string | null = null
  let bestDistance = (word.replace(/^-+/, '').length < 5 ? 1 : 2) + 1
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** How many letters must be added, removed, changed, or swapped with their neighbour. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1)
      }
      row.push(cost)
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
