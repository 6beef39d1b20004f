/** Judges a run while it happens: over-admission, falling tokens, late or needless loss, stale effects. */
import type { Handle } from '../../../holdfast/src/hold/handle.ts'
import { usableMs } from '../../../holdfast/src/contract/validity.ts'
import type { Machine } from './machine.ts'
import type { Server } from './server.ts'
import type { World } from '../../src/simulated/world.ts'

export class Violation extends Error {}

/** A hold as the judge sees it. */
export interface Record {
  readonly machine: Machine
  readonly handle: Handle
  readonly line: string
  readonly weight: number
  readonly capacity: number
  readonly isExclusive: boolean
  /** A reader that became a writer: its token is that of its place, below those of readers that came after it. */
  readonly isUpgraded?: boolean
  readonly ttlMs: number
  /** A fixed lease is not renewed: its end is no fault. */
  readonly isFixed: boolean
  readonly grantedAt: number
  readonly token: bigint
  /** Released by its owner, or told that it is lost. */
  endedAt: number | null
}

export class Checker {
  grants: number = 0
  handovers: number = 0
  readonly #world: World
  readonly #server: Server
  readonly #live = new Set<Record>()
  readonly #last = new Map<string, Record>()
  /** The largest token told so far, and the largest of an exclusive hold, by line. */
  readonly #told = new Map<string, { any: bigint; exclusive: bigint }>()
  violation: Violation | null = null

  constructor(world: World, server: Server) {
    this.#world = world
    this.#server = server
  }

  get now(): number {
    return this.#world.now
  }

  granted(record: Record): void {
    this.grants++
    this.#world.note(`grant ${record.machine.name} ${record.line}`)
    const last = this.#last.get(record.line)
    if (last !== undefined && last.machine !== record.machine) this.handovers++
    this.#last.set(record.line, record)
    this.#checkTokens(record)
    this.#live.add(record)
    let weight = 0
    for (const other of this.#live) {
      if (other.line === record.line && this.#isBelieved(other) && !this.#isExcused(other)) weight += other.weight
    }
    if (weight > record.capacity) this.#fail(`over-admission on ${record.line}: weight ${weight} of ${record.capacity}`)
    // A place that was broken weighs until its lease has run out: its holder may be in the middle of something.
    const broken = this.#server.brokenWeight(record.line, record.handle.hold.lease.token)
    if (broken + record.weight > record.capacity && !this.#isExcused(record)) {
      this.#fail(`served early on ${record.line}: ${record.token} beside a broken hold whose lease still runs`)
    }
  }

  /** The holder acts, having asserted that it holds: nobody newer may have been let in beside it. */
  effect(record: Record): void {
    for (const other of this.#live) {
      if (other.line !== record.line || other === record || other.token <= record.token) continue
      // A reader with a newer token that was beside an upgradeable one, and has crashed since, is no newer writer.
      if (record.isUpgraded === true && !this.#isBelieved(other)) continue
      const fits = record.weight + other.weight <= record.capacity
      if (!fits && !this.#isExcused(record))
        this.#fail(`stale effect on ${record.line}: ${record.token} after ${other.token}`)
    }
  }

  released(record: Record): void {
    record.endedAt = this.#world.now
    this.#live.delete(record)
  }

  /** The holder was told of a loss. */
  lost(record: Record): void {
    if (record.endedAt !== null) return
    this.released(record)
    const { machine, ttlMs } = record
    const recent = machine.troubles.filter((at) => at > this.#world.now - 1.1 * ttlMs).length
    const isBroken = (this.#server.brokenAt.get(record.line) ?? -1) >= record.grantedAt - ttlMs
    if (!record.isFixed && !isBroken && recent <= 1 && this.#server.failedOverAt < record.grantedAt - ttlMs) {
      this.#fail(`needless loss on ${record.line}: ${recent} faults met ${machine.name} within a lease`)
    }
  }

  /** Called after everything that happens: whoever must know by now, knows. */
  tick(): void {
    for (const record of this.#live) {
      const { machine } = record
      if (machine.crashed || machine.isFrozen || machine.thawedAt === this.#world.now) continue
      // Timers count in whole milliseconds.
      if (this.#leftMs(record) < -3) this.#fail(`late loss on ${record.line}: ${machine.name} was not told`)
    }
  }

  #leftMs({ handle, machine, ttlMs }: Record): number {
    return handle.hold.lease.sinceMonoMs + usableMs(ttlMs) - machine.mono()
  }

  /** By both of its own clocks the machine may still take itself for a holder. */
  #isBelieved(record: Record): boolean {
    const { machine, handle, ttlMs } = record
    if (machine.crashed) return false
    return this.#leftMs(record) > 0 && machine.wall() < handle.hold.lease.sinceWallMs + usableMs(ttlMs)
  }

  /** The store has forgotten this hold since it was granted: no lock on that store could know. */
  #isExcused(record: Record): boolean {
    return this.#server.failedOverAt >= record.grantedAt - record.ttlMs
  }

  #checkTokens(record: Record): void {
    // A writer that reads again has the token of its place: nothing new is granted.
    if (record.isUpgraded === true && !record.isExclusive) return
    const told = this.#told.get(record.line) ?? { any: -1n, exclusive: -1n }
    const bar = record.isExclusive && record.isUpgraded !== true ? told.any : told.exclusive
    if (record.token <= bar && !this.#isExcused(record)) {
      this.#fail(`falling token on ${record.line}: ${record.token} after ${bar}`)
    }
    if (record.token > told.any) told.any = record.token
    if (record.isExclusive && record.token > told.exclusive) told.exclusive = record.token
    this.#told.set(record.line, told)
  }

  #fail(what: string): void {
    this.violation ??= new Violation(`${what} (at ${this.#world.now.toFixed(1)} ms)`)
  }

  fail(what: string): void {
    this.#fail(what)
  }
}
