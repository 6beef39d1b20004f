/** What is measured: one list for OpenTelemetry and Prometheus. */

export interface Instrument {
  /** As OpenTelemetry has it: dots, no unit. */
  readonly name: string
  readonly kind: 'histogram' | 'counter' | 'gauge'
  /** 's' (seconds) for histograms. */
  readonly unit: 's' | ''
  readonly help: string
}

const histogram = (name: string, help: string): Instrument => ({ name, kind: 'histogram', unit: 's', help })
const counter = (name: string, help: string): Instrument => ({ name, kind: 'counter', unit: '', help })
const gauge = (name: string, help: string): Instrument => ({ name, kind: 'gauge', unit: '', help })

export type InstrumentKey =
  | 'wait'
  | 'hold'
  | 'held'
  | 'waiting'
  | 'lost'
  | 'renewal'
  | 'handovers'
  | 'leader'
  | 'refused'

export const INSTRUMENTS: Readonly<Record<InstrumentKey, Instrument>> = {
  wait: histogram('holdfast.lock.wait.duration', 'From the request for a lock to its end, by outcome.'),
  hold: histogram('holdfast.lock.hold.duration', 'How long locks were held, by how the hold ended.'),
  held: gauge('holdfast.lock.held', 'Locks that this process holds now.'),
  waiting: gauge('holdfast.lock.waiting', 'Callers of this process that wait for a lock now.'),
  lost: counter('holdfast.lock.lost', 'Holds that ended without a release, by reason.'),
  renewal: histogram('holdfast.renewal.duration', 'How long the store took to answer a heartbeat.'),
  handovers: counter('holdfast.handovers', 'Locks that went to a waiter: by the store, or inside this process.'),
  leader: gauge('holdfast.election.leader', 'Elections that this process leads now.'),
  refused: counter(
    'holdfast.fence.refused',
    'Tokens that a guard of this process refused, because it had seen a newer one.',
  ),
}

/** From a hand-over inside a process to a job that holds its lock for half an hour. */
export const BUCKETS_S: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800,
]
