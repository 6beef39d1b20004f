/** The small worlds to enumerate: who wants what, and what may go wrong. */
import { NO_FAULTS } from './moves.ts'
import type { Budget, World } from './state.ts'

const ONE = { lines: [0], weight: 1, visits: 1 }

export const WORLDS: readonly World[] = [
  { name: 'mutex, three clients', times: 2, late: 1, capacity: 1, lines: 1, wishes: [ONE, ONE, ONE] },
  { name: 'mutex, pushes', times: 2, late: 2, capacity: 1, lines: 1, push: true, wishes: [ONE, ONE] },
  {
    name: 'mutex, single tries',
    times: 2,
    late: 1,
    capacity: 1,
    lines: 1,
    wishes: [ONE, { ...ONE, wait: false, visits: 2 }],
  },
  {
    name: 'mutex, handed on',
    times: 1,
    late: 1,
    capacity: 1,
    lines: 1,
    handovers: 2,
    wishes: [ONE, { ...ONE, visits: 2 }],
  },
  { name: 'mutex, kept', times: 1, late: 1, capacity: 1, lines: 1, keep: true, wishes: [{ ...ONE, visits: 2 }, ONE] },
  {
    name: 'semaphore of three',
    times: 1,
    late: 1,
    capacity: 3,
    lines: 1,
    wishes: [{ ...ONE, weight: 2 }, { ...ONE, weight: 2 }, ONE],
  },
  {
    name: 'read-write, with an upgrade',
    times: 1,
    late: 0,
    capacity: 3,
    lines: 1,
    wishes: [{ ...ONE, weight: 2, heavy: 3 }, { ...ONE, weight: 3 }, ONE],
  },
  {
    name: 'two locks together',
    times: 1,
    late: 0,
    deepOnly: ['lost', 'break'],
    capacity: 1,
    lines: 2,
    wishes: [
      { ...ONE, lines: [0, 1] },
      { ...ONE, lines: [1, 0] },
      { ...ONE, lines: [1], wait: false },
    ],
  },
]

export type FaultKind = keyof Budget

export const FAULTS: readonly FaultKind[] = ['lost', 'late', 'doubled', 'crash', 'break', 'abort']

/** One search: a world, and how often each fault may happen in it. */
export interface Job {
  readonly world: World
  readonly faults: string
  readonly budget: Budget
}

export function jobOf(world: World, ...faults: readonly (readonly [FaultKind, number])[]): Job {
  const names = faults.map(([fault, times]) => `${fault} ≤ ${times}`)
  return { world, faults: names.join(', ') || 'none', budget: { ...NO_FAULTS, ...Object.fromEntries(faults) } }
}

/** Each world with each fault alone, as often as a minute allows. */
export function plainJobs(): Job[] {
  return WORLDS.flatMap((world) => [
    jobOf(world),
    ...FAULTS.map((fault) => [fault, fault === 'late' ? world.late : world.times] as const)
      .filter(([fault, times]) => times > 0 && !world.deepOnly?.includes(fault))
      .map((fault) => jobOf(world, fault)),
  ])
}

/** Each world with each fault twice, and with each two faults together. This takes hours. */
export function deepJobs(): Job[] {
  return WORLDS.flatMap((world) => [
    ...FAULTS.map((fault) => jobOf(world, [fault, 2])),
    ...FAULTS.flatMap((one, i) => FAULTS.slice(i + 1).map((other) => jobOf(world, [one, 1], [other, 1]))),
  ])
}
