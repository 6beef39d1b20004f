/** What many runs saw, added up. */
import type { Outcome } from './scenario.ts'
import { printNote, readSeeds } from './seeds.ts'
import type { World } from '../../src/simulated/world.ts'

interface Found {
  readonly seed: number
  readonly what: string
}

interface Sums {
  runs: number
  unhurt: number
  grants: number
  handovers: number
  digests: number[]
  faults: { [kind: string]: number }
  violations: Found[]
}

export class Tally {
  #sums: Sums = { runs: 0, unhurt: 0, grants: 0, handovers: 0, digests: [], faults: {}, violations: [] }

  get violations(): readonly Found[] {
    return this.#sums.violations
  }

  add(outcome: Outcome): void {
    const sums = this.#sums
    sums.runs++
    if (outcome.hits === 0) sums.unhurt++
    sums.grants += outcome.grants
    sums.handovers += outcome.handovers
    sums.digests.push(outcome.digest)
    for (const [kind, count] of outcome.faults) sums.faults[kind] = (sums.faults[kind] ?? 0) + count
    if (outcome.violation !== null) sums.violations.push({ seed: outcome.seed, what: outcome.violation.message })
  }

  merge(other: Tally): void {
    const [mine, theirs] = [this.#sums, other.#sums]
    for (const key of ['runs', 'unhurt', 'grants', 'handovers'] as const) mine[key] += theirs[key]
    mine.digests = mine.digests.concat(theirs.digests)
    for (const [kind, count] of Object.entries(theirs.faults)) mine.faults[kind] = (mine.faults[kind] ?? 0) + count
    mine.violations = mine.violations.concat(theirs.violations)
  }

  toJSON(): object {
    return this.#sums
  }

  static from(data: object): Tally {
    const tally = new Tally()
    tally.#sums = data as Sums
    return tally
  }

  report(seconds: number, script = 'simulate'): string {
    const { runs, unhurt, grants, handovers, digests, faults, violations } = this.#sums
    const kinds = Object.entries(faults).map(([kind, count]) => `${kind} ${count}`)
    const lines = [
      `${runs} runs in ${seconds.toFixed(1)} s, ${new Set(digests).size} distinct interleavings, ${grants} grants`,
      `faults: ${kinds.toSorted().join(', ')}`,
      `runs without a fault that hit an open call: ${unhurt}; hand-overs between machines under fault: ${handovers}`,
    ]
    for (const { seed, what } of violations) {
      lines.push(`✗ seed ${seed}: ${what}`, `  replay: npm run ${script} -- --seed ${seed}`)
    }
    if (violations.length === 0) lines.push('no violation')
    return lines.join('\n')
  }
}

/** Runs seeds one after the other until the first violation, and prints what came of it. */
export async function runAlone(
  script: string,
  play: (seed: number, onNote: World['onNote']) => Promise<Outcome>,
  args: readonly string[],
): Promise<void> {
  const { from, to } = readSeeds(args, 1_000)
  const onNote = args.includes('--trace') ? printNote : null
  const started = performance.now()
  const tally = new Tally()
  for (let seed = from; seed <= to && tally.violations.length === 0; seed++) tally.add(await play(seed, onNote))
  process.stdout.write(`${tally.report((performance.now() - started) / 1_000, script)}\n`)
  process.exitCode = tally.violations.length > 0 ? 1 : 0
}
