/** A store that we started: its servers, the ways in, and the faults that can be made. */
import type { FaultProxy } from '../../testbed/proxy.ts'
import type { Blow } from '../nemesis/blow.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Random } from '../random.ts'
import type { Cable } from './cable.ts'
import type { Sufferers } from './hardships.ts'

/** A way into the store for one client. */
export interface Gate {
  readonly url: string
  /** One proxy in front of each server; none if the client connects directly. */
  readonly proxies: readonly FaultProxy[]
  /** The client's own network, if it has one. */
  readonly cable: Cable | null
}

/** A fault that can be made on the store's servers. */
export interface Deed {
  /** True: the store may forget or lapse grants by this fault; the store's page in docs says so. */
  readonly forgets: boolean
  /** null: no server is left for it. */
  aim(random: Random, ttlMs: number): Promise<Blow | null>
}

export interface Backend {
  /** Programs and their versions. */
  readonly versions: string
  /** The URL for clients that connect directly. */
  readonly url: string
  /** How long the store may take to be back after a fault. */
  readonly failoverMs: number
  /** The lease that suits this store. */
  readonly ttlMs: number
  readonly deeds: Readonly<Partial<Record<NemesisName, Deed>>>
  /** Why the store has no such deed. */
  readonly lacks: Readonly<Partial<Record<NemesisName, string>>>
  /** Further faults of its servers; absent: none. */
  readonly sufferers?: Sufferers
  /** A way in for the client with this number, from 1. */
  gate(at: number): Promise<Gate>
  close(): Promise<void>
}
