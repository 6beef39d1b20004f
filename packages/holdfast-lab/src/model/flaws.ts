/**
 * Planted faults: each breaks one rule of the model, and the worlds must show it. Many are faults that Holdfast once
 * had; `seen` names them as docs/explain/evidence.md does.
 */
import { RULES, type Rules } from './client.ts'
import { type LineEvent, type ModelLine, stepLine, type StepLine } from 'holdfast/conformance'
import { TTL } from './state.ts'
import type { FaultKind } from './worlds.ts'

export interface Flaw {
  readonly name: string
  readonly rules: Rules
  /** The world where it shows, and the fault that it needs; null: none. */
  readonly world: string
  readonly fault: FaultKind | null
  /** How often the fault must happen. Default 1. */
  readonly times?: number
  /** The fault of Holdfast, or of a store, that this was. */
  readonly seen?: string
  /** Its number in the list of findings. */
  readonly finding?: string
}

/** A line whose steps differ for some events. */
function lineWhere(change: (line: ModelLine, event: LineEvent, now: number) => ReturnType<StepLine> | null): Rules {
  return { ...RULES, step: (line, event, now) => change(line, event, now) ?? stepLine(line, event, now) }
}

const without = (line: ModelLine, id: string): ModelLine => ({
  ...line,
  places: line.places.filter((p) => p.id !== id),
})

export const FLAWS: readonly Flaw[] = [
  {
    name: 'a lease is counted from the answer',
    world: 'mutex, three clients',
    fault: 'late',
    rules: { ...RULES, believed: () => TTL },
  },
  {
    name: 'an answer that comes after its time is a grant',
    world: 'mutex, three clients',
    fault: 'late',
    rules: { ...RULES, takesLateAnswers: true, believed: (age) => Math.max(1, TTL - age) },
  },
  {
    name: 'a doubted place is left once',
    world: 'mutex, three clients',
    fault: 'late',
    rules: { ...RULES, leavesWhenDoubted: 1 },
    seen: 'a given-up enter left a ghost',
    finding: 'B2',
  },
  {
    name: 'a lost answer is asked for under another id',
    world: 'mutex, three clients',
    fault: 'late',
    rules: { ...RULES, keepsId: false },
    seen: 'etcd, layout key: a lost reply left a lock that nobody had',
    finding: 'A5',
  },
  {
    name: 'a hand-over does not raise the token',
    world: 'mutex, kept',
    fault: null,
    rules: { ...RULES, counts: false },
  },
  {
    name: 'what was asked for is not given up',
    world: 'mutex, three clients',
    fault: null,
    rules: { ...RULES, undoes: false },
  },
  {
    name: 'a push is believed whenever it comes',
    world: 'mutex, pushes',
    fault: null,
    rules: { ...RULES, doubtsPushes: false },
  },
  {
    name: 'several locks are asked for in the order given',
    world: 'two locks together',
    fault: null,
    rules: { ...RULES, sortsLines: false },
  },
  { name: 'a kept place is not given back', world: 'mutex, kept', fault: null, rules: { ...RULES, yields: false } },
  {
    name: 'a renewal counts as the answer to an upgrade',
    world: 'read-write, with an upgrade',
    fault: 'late',
    rules: { ...RULES, readsRenewals: true },
  },
  {
    name: 'a holder does not know its place by the token',
    world: 'mutex, pushes',
    fault: 'late',
    times: 2,
    rules: { ...RULES, knowsItsPlace: false },
  },
  {
    name: 'an upgrade is a second place at the end of the line',
    world: 'read-write, with an upgrade',
    fault: null,
    rules: { ...RULES, raisesInPlace: false },
    seen: 'rwLock(name).upgrade stopped a line for ever',
    finding: 'A1',
  },
  {
    name: 'a broken place goes when it is left',
    world: 'mutex, three clients',
    fault: 'break',
    rules: lineWhere((line, event, now) => {
      if (event.kind !== 'leave') return null
      const places = line.places.map((place) => (place.id === event.id ? { ...place, broken: false } : place))
      return stepLine({ ...line, places }, event, now)
    }),
    seen: 'break without now let two act at once',
    finding: 'A2',
  },
  {
    name: 'a break serves the next at once',
    world: 'mutex, three clients',
    fault: 'break',
    rules: lineWhere((line, event, now) =>
      event.kind === 'break' ? stepLine(line, { ...event, atOnce: true }, now) : null,
    ),
    seen: 'etcd, layout go: a broken etcdctl holder was not told',
    finding: 'A10',
  },
  {
    name: 'an enter is answered and not kept',
    world: 'mutex, three clients',
    fault: null,
    rules: lineWhere((line, event, now) => {
      const step = event.kind === 'enter' ? stepLine(line, event, now) : null
      return step === null ? null : { ...step, line: { ...line, counter: step.line.counter } }
    }),
    seen: 'MySQL with autocommit = 0',
    finding: 'A4',
  },
  {
    name: 'a renewal is answered, and the lease is not longer for it',
    world: 'mutex, three clients',
    fault: null,
    rules: lineWhere((line, event, now) => {
      const step = event.kind === 'touch' ? stepLine(line, event, now) : null
      return step === null ? null : { ...step, line }
    }),
    seen: 'etcd 3.4.23 ended leases that were renewed, after its leader stood still',
    finding: 'A9',
  },
  {
    name: 'places of another make are not seen',
    world: 'semaphore of three',
    fault: null,
    rules: lineWhere((line, event, now) => {
      if (event.kind !== 'enter' || !event.id.startsWith('b')) return null
      const seen = { ...line, places: line.places.filter(({ id }) => !id.startsWith('a')) }
      const step = stepLine(seen, event, now)
      const places = [...line.places.filter(({ id }) => id.startsWith('a')), ...step.line.places]
      return { ...step, line: { ...step.line, places } }
    }),
    seen: 'ZooKeeper, layout curator: kazoo and Curator locks were not seen',
    finding: 'A11',
  },
  {
    name: 'a leave of an unknown id frees the first',
    world: 'mutex, three clients',
    fault: 'late',
    rules: lineWhere((line, event, now) => {
      const [first] = line.places
      if (event.kind !== 'leave' || first === undefined || line.places.some(({ id }) => id === event.id)) return null
      return stepLine(without(line, first.id), { kind: 'touch', id: '' }, now)
    }),
  },
  {
    name: 'a renewal brings a lapsed place back',
    world: 'mutex, three clients',
    fault: 'late',
    rules: lineWhere((line, event, now) => {
      if (event.kind !== 'touch' || event.id === '' || line.places.some(({ id }) => id === event.id)) return null
      return stepLine(line, { kind: 'enter', id: event.id, weight: line.capacity, ttl: TTL, wait: true }, now)
    }),
  },
  {
    name: 'an unknown leave leaves no tombstone',
    world: 'mutex, three clients',
    fault: 'late',
    rules: lineWhere((line, event, now) => {
      if (event.kind !== 'leave') return null
      const step = stepLine(line, event, now)
      return { ...step, line: { ...step.line, tombstones: [] } }
    }),
  },
  {
    name: 'tokens begin again when the line is empty',
    world: 'mutex, three clients',
    fault: null,
    rules: lineWhere((line, event, now) =>
      event.kind === 'enter' && line.places.length === 0 ? stepLine({ ...line, counter: 0 }, event, now) : null,
    ),
  },
  {
    name: 'clients with other servers keep a line of their own',
    world: 'mutex, three clients',
    fault: null,
    rules: lineWhere((line, event, now) => {
      if (event.kind === 'break') return null
      const isOther = (id: string): boolean => id.startsWith('b') !== event.id.startsWith('b')
      const others = line.places.filter(({ id }) => isOther(id))
      const step = stepLine({ ...line, places: line.places.filter(({ id }) => !isOther(id)) }, event, now)
      const places = [...others, ...step.line.places].toSorted((a, b) => a.token - b.token)
      return { ...step, line: { ...step.line, places } }
    }),
    seen: 'Redlock: clients with different lists of servers both held',
    finding: 'A7',
  },
  {
    name: 'a place is thrown away while its lease runs',
    world: 'mutex, three clients',
    fault: null,
    rules: lineWhere((line, event, now) => {
      const [first] = line.places
      if (event.kind !== 'enter' || first === undefined || line.places.some(({ id }) => id === event.id)) return null
      return stepLine(without(line, first.id), event, now)
    }),
    seen: 'Redlock: servers that may evict keys threw votes away',
    finding: 'A8',
  },
  {
    name: 'a break leaves a place of nobody behind',
    world: 'mutex, three clients',
    fault: 'break',
    rules: lineWhere((line, event, now) => {
      if (event.kind !== 'break') return null
      const step = stepLine(line, event, now)
      const counter = step.line.counter + 1
      const stays = { ttl: Number.POSITIVE_INFINITY, lapsesAt: Number.POSITIVE_INFINITY, broken: false, turn: 0 }
      const places = [...step.line.places, { id: 'z1', token: counter, weight: 1, ...stays }]
      return { ...step, line: { ...step.line, places, counter } }
    }),
    seen: 'etcd, layout go: the key of a break stayed, and a lock named like the prefix waited for ever',
    finding: 'A10',
  },
]
