/** What a scenario is. Types only; the real ones are in scenarios/. */
import type { Adapter } from './adapter.ts'

export interface Store {
  readonly scheme: string
  /** With `{folder}` in place of the measurement's own folder. */
  readonly url: string
  /** As in a driver's traits; 'process': contenders share one process. */
  readonly scope: 'process' | 'host' | 'network'
  /** Adapters to compare with. The bench uses the first that takes part. */
  readonly bases: readonly string[]
  /** In `holds`. */
  readonly heldLocks: number
  /** And their ttl; 9 000 unless told. */
  readonly heldTtlMs?: number
}

export interface Metric {
  readonly key: string
  /** With its unit. */
  readonly title: string
  /** Left out: neither. */
  readonly better?: 'more' | 'less'
}

/** What the command line tells a scenario. */
export interface Setting {
  readonly store: Store
  /** Length of a critical section. */
  readonly sectionMs: number
  /** In `uncontended`: locks that are used again and again, locks made anew for every call, or both. */
  readonly uses: readonly ('reused' | 'fresh')[]
  /** In `holds`: how many locks; null: as many as the store says. */
  readonly held: number | null
  /** In `growth`: the longest that one size may take to be set up and measured. */
  readonly cellMs: number
}

/** By metric; NaN where there is none. */
export type Figures = Record<string, number>

/** By case. */
export type Round = Record<string, Figures>

export interface Scenario {
  readonly name: string
  readonly title: string
  /** Ratios are taken of the first one. */
  readonly metrics: readonly Metric[]
  /** Fewer than asked for, where figures are counts rather than times. */
  rounds?(rounds: number): number
  suits?(adapter: Adapter, setting: Setting): boolean
  /** One round, in new processes. */
  run(adapter: Adapter, setting: Setting): Promise<Round>
}

/** The figures of one adapter, round by round. */
export interface Series {
  readonly adapter: Adapter
  readonly rounds: readonly Round[]
  readonly failure?: string
}
