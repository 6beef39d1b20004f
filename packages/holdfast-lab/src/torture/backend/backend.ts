/** A store of our own making: its servers, its ways in, and what can be done to it. */
import type { FaultProxy } from '../../testbed/proxy.ts'
import type { Blow } from '../nemesis/blow.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Random } from '../random.ts'
import type { Cable } from './cable.ts'
import type { Sufferers } from './hardships.ts'

/** A way into the store for one client. */
export interface Gate {
  readonly url: string
  /** One in front of each server; none where the client goes there directly. */
  readonly proxies: readonly FaultProxy[]
  /** Its network, where it has one of its own. */
  readonly cable: Cable | null
}

/** Something that can be done to the store's servers. */
export interface Deed {
  /** The store may forget or lapse grants by it; its page in docs/stores says so. */
  readonly forgets: boolean
  /** null: nothing is left that it could be done to. */
  aim(random: Random, ttlMs: number): Promise<Blow | null>
}

export interface Backend {
  /** Programs and their versions. */
  readonly versions: string
  /** What a client is given that goes there directly. */
  readonly url: string
  /** How long the store may take to be back after a fault. */
  readonly failoverMs: number
  /** The lease that suits it. */
  readonly ttlMs: number
  readonly deeds: Readonly<Partial<Record<NemesisName, Deed>>>
  /** Why it has no such deed. */
  readonly lacks: Readonly<Partial<Record<NemesisName, string>>>
  /** What else can befall its servers; none: nothing else. */
  readonly sufferers?: Sufferers
  /** A way in for the client with this number, from 1. */
  gate(at: number): Promise<Gate>
  close(): Promise<void>
}
