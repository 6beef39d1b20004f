/** Turns events into measurements, for any sink that keeps them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Events, LockEvent } from '../contract/events.ts'
import type { Groups } from './groups.ts'
import type { InstrumentKey } from './instruments.ts'

export type Labels = { readonly [name: string]: string }

/** Takes one measurement: seconds for a histogram, the amount to add for a counter and a gauge. */
export type Recorder = (value: number) => void

/**
 * Keeps measurements. `measure` asks for a series once and then only calls it: to look the series up at each event
 * would cost more than the lock itself.
 */
export interface Sink {
  series(instrument: InstrumentKey, labels: Labels): Recorder
}

/** Calls the listener for each event, until the result is called. */
export function hear<K extends keyof Events>(event: K, listener: (told: Events[K]) => void): () => void {
  const heard = (message: unknown): void => listener(message as Events[K])
  subscribe(`holdfast:${event}`, heard)
  return () => void unsubscribe(`holdfast:${event}`, heard)
}

const NAMES_MAX = 8_192
const OUTCOMES = ['refused', 'timed-out', 'aborted', 'failed'] as const

/** The series of one group of locks on one kind of store. Each is made when it is first needed. */
class GroupSeries {
  readonly #sink: Sink
  readonly #labels: Labels
  readonly #made = new Map<string, Recorder>()
  // The most frequent series, those of a free lock, need no look into the map.
  #acquired: Recorder | null = null
  #held: Recorder | null = null
  #released: Recorder | null = null

  constructor(sink: Sink, lock: string, store: string) {
    this.#sink = sink
    this.#labels = { lock, store }
  }

  acquired(waitedMs: number): void {
    this.#acquired ??= this.#make('wait', { outcome: 'acquired' })
    this.#held ??= this.#make('held', {})
    this.#acquired(waitedMs / 1e3)
    this.#held(1)
  }

  released(heldMs: number): void {
    this.#held ??= this.#make('held', {})
    this.#released ??= this.#make('hold', { end: 'released' })
    this.#held(-1)
    this.#released(heldMs / 1e3)
  }

  lost(heldMs: number, reason: string): void {
    this.#held ??= this.#make('held', {})
    this.#held(-1)
    this.#find('hold', 'end', 'lost')(heldMs / 1e3)
    this.#find('lost', 'reason', reason)(1)
  }

  gone(waitedMs: number, outcome: string): void {
    this.#find('wait', 'outcome', outcome)(waitedMs / 1e3)
  }

  handedOver(where: string): void {
    this.#find('handovers', 'where', where)(1)
  }

  add(gauge: 'waiting' | 'leader', count: 1 | -1): void {
    this.#find(gauge, '', '')(count)
  }

  #find(instrument: InstrumentKey, label: string, value: string): Recorder {
    const key = `${instrument} ${value}`
    let record = this.#made.get(key)
    if (record === undefined) {
      record = this.#make(instrument, label === '' ? {} : { [label]: value })
      this.#made.set(key, record)
    }
    return record
  }

  #make(instrument: InstrumentKey, labels: Labels): Recorder {
    return this.#sink.series(instrument, { ...this.#labels, ...labels })
  }
}

/** The series of a lock, by its name. */
function seriesOfLocks(sink: Sink, groups: Groups): (told: LockEvent) => GroupSeries {
  const byStore = new Map<string, { byName: Map<string, GroupSeries>; byGroup: Map<string, GroupSeries> }>()
  return ({ lock, store }) => {
    let known = byStore.get(store)
    if (known === undefined) byStore.set(store, (known = { byName: new Map(), byGroup: new Map() }))
    const { byName, byGroup } = known
    const found = byName.get(lock)
    if (found !== undefined) return found
    const group = groups.of(lock)
    let series = byGroup.get(group)
    if (series === undefined) byGroup.set(group, (series = new GroupSeries(sink, group, store)))
    // There are as many names as users; when there are too many, all are forgotten at once.
    if (byName.size >= NAMES_MAX) byName.clear()
    byName.set(lock, series)
    return series
  }
}

/** Measures all instances of this process until stopped. */
export function measure(sink: Sink, groups: Groups): () => void {
  /** The requests that wait now. Each must leave the same gauge that it entered. */
  const waiting = new Map<number, GroupSeries>()
  const seriesOf = seriesOfLocks(sink, groups)
  /** Ends the wait of a request, and returns whether there was one. */
  const endWait = (request: number): boolean => {
    const waited = waiting.get(request)
    if (waited === undefined) return false
    waiting.delete(request)
    waited.add('waiting', -1)
    return true
  }
  const renewals = new Map<string, Recorder>()
  const stops = [
    hear('waiting', (told) => {
      if (waiting.has(told.request)) return
      const series = seriesOf(told)
      waiting.set(told.request, series)
      series.add('waiting', 1)
    }),
    hear('acquired', (told) => {
      const series = seriesOf(told)
      series.acquired(told.waitedMs)
      if (waiting.size > 0 && endWait(told.request)) series.handedOver(told.by)
    }),
    ...OUTCOMES.map((outcome) =>
      hear(outcome, (told) => {
        seriesOf(told).gone(told.waitedMs, outcome)
        endWait(told.request)
      }),
    ),
    hear('released', (told) => seriesOf(told).released(told.heldMs)),
    hear('lost', (told) => seriesOf(told).lost(told.heldMs, told.cause)),
    hear('renewed', ({ store, durationMs, error }) => {
      const outcome = error === undefined ? 'renewed' : 'failed'
      const key = `${store} ${outcome}`
      let record = renewals.get(key)
      if (record === undefined) renewals.set(key, (record = sink.series('renewal', { store, outcome })))
      record(durationMs / 1e3)
    }),
    hear('elected', (told) => seriesOf(told).add('leader', 1)),
    hear('resigned', (told) => seriesOf(told).add('leader', -1)),
    hear('fence-refused', ({ lock }) => sink.series('refused', { lock: groups.of(lock) })(1)),
  ]
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}
