/** Turns events into measurements, whoever keeps these. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { AcquiredEvent, Events, GoneEvent, LockEvent } from '../contract/events.ts'
import type { Groups } from './groups.ts'
import type { InstrumentKey } from './instruments.ts'

export type Labels = Readonly<Record<string, string>>

/** Who keeps measurements. A histogram is given seconds, a counter and a gauge what is to be added. */
export interface Sink {
  record(instrument: InstrumentKey, value: number, labels: Labels): void
}

/** Hears an event until stopped. */
export function hear<K extends keyof Events>(event: K, listener: (told: Events[K]) => void): () => void {
  const heard = (message: unknown): void => listener(message as Events[K])
  subscribe(`holdfast:${event}`, heard)
  return () => void unsubscribe(`holdfast:${event}`, heard)
}

const OUTCOMES = ['refused', 'timed-out', 'aborted', 'failed'] as const

/** Measures all instances of this process until stopped. */
export function measure(sink: Sink, groups: Groups): () => void {
  /** The requests that wait now, so that each is counted out of the gauge that it was counted into. */
  const waiting = new Map<number, Labels>()
  const lockOf = ({ lock, store }: LockEvent): Labels => ({ lock: groups.of(lock), store })
  const ended = (told: GoneEvent | AcquiredEvent, outcome: string): void => {
    const { lock, store } = lockOf(told) as { lock: string; store: string }
    sink.record('wait', told.waitedMs / 1e3, { lock, store, outcome })
    const waited = waiting.get(told.request)
    if (waited === undefined) return
    waiting.delete(told.request)
    sink.record('waiting', -1, waited)
    if ('by' in told) sink.record('handovers', 1, { lock, store, where: told.by })
  }
  const stops = [
    hear('waiting', (told) => {
      if (waiting.has(told.request)) return
      const labels = lockOf(told)
      waiting.set(told.request, labels)
      sink.record('waiting', 1, labels)
    }),
    hear('acquired', (told) => {
      ended(told, 'acquired')
      sink.record('held', 1, lockOf(told))
    }),
    ...OUTCOMES.map((outcome) => hear(outcome, (told) => ended(told, outcome))),
    hear('released', (told) => {
      const labels = lockOf(told)
      sink.record('held', -1, labels)
      sink.record('hold', told.heldMs / 1e3, { ...labels, end: 'released' })
    }),
    hear('lost', (told) => {
      const labels = lockOf(told)
      sink.record('held', -1, labels)
      sink.record('hold', told.heldMs / 1e3, { ...labels, end: 'lost' })
      sink.record('lost', 1, { ...labels, reason: told.cause })
    }),
    hear('renewed', ({ store, durationMs, error }) =>
      sink.record('renewal', durationMs / 1e3, { store, outcome: error === undefined ? 'renewed' : 'failed' }),
    ),
    hear('elected', (told) => sink.record('leader', 1, lockOf(told))),
    hear('resigned', (told) => sink.record('leader', -1, lockOf(told))),
    hear('fence-refused', ({ lock }) => sink.record('refused', 1, { lock: groups.of(lock) })),
  ]
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}
