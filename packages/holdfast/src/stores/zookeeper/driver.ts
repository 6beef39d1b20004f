/** The ZooKeeper driver: a place is an ephemeral sequential node, and its session the lease. */
import type { Runtime } from '../../core/runtime.ts'
import { CapacityMismatchError, StoreUnreachableError, UnsupportedError } from '../../core/errors.ts'
import { instant } from '../../core/validity.ts'
import {
  type CellView,
  type Change,
  type Driver,
  type Entry,
  isGranted,
  type LineView,
  type Place,
  type Stop,
  type Traits,
  type Wake,
} from '../../driver.ts'
import { Cells } from './cells.ts'
import { believableMs, sessionMsFor } from './contacts.ts'
import type { ZooKeeperClient } from './client/index.ts'
import { explained } from './errors.ts'
import { Ground } from './ground.ts'
import type { Layout } from './layout.ts'
import { readLine } from './line.ts'
import { inOrder } from './look.ts'
import { Observer } from './observer.ts'
import { PlaceSession } from './session.ts'
import { Sessions } from './sessions.ts'
import { Standing } from './standing.ts'
import { breakLine, listLines } from './views.ts'
import type { Acl } from './client/index.ts'

export interface DriverParts {
  readonly layout: Layout
  /** Where cells and the clock live. */
  readonly base: string
  readonly acl: readonly Acl[]
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
  /** Makes a client whose session is to last that long. */
  readonly connect: (sessionMs: number) => ZooKeeperClient
  /** The shortest and the longest session to be asked for. */
  readonly sessionMs: { readonly min: number; readonly max: number }
  /** How long a session is kept that no place lives by. Default 60 000. */
  readonly idleMs?: number
}

/** The session for what belongs to no place: lists, cells, observers. */
const COMMON_SESSION_MS = 10_000
const IDLE_MS = 60_000

export class ZookeeperDriver implements Driver {
  readonly name = 'zookeeper'
  readonly traits: Traits
  readonly #parts: DriverParts
  readonly #ground: Ground
  readonly #cells: Cells
  readonly #sessions: Sessions<PlaceSession>
  readonly #standings = new Map<string, Standing>()
  readonly #wakes = new Map<string, Wake>()
  /** Ids that must not come back, and until when a late enter of theirs could come. */
  readonly #dead = new Map<string, { readonly until: number; readonly unanswered: boolean }>()
  #closing: Promise<void> | null = null

  constructor(parts: DriverParts) {
    this.#parts = parts
    this.#ground = new Ground(parts.acl, parts.layout.containers)
    this.#sessions = new Sessions({
      make: (sessionMs) => this.#makeSession(sessionMs),
      now: () => parts.runtime.now(),
      idleMs: parts.idleMs ?? IDLE_MS,
      lastingMs: this.#granted(COMMON_SESSION_MS),
    })
    this.#cells = new Cells(() => this.#common(), this.#ground, parts.base)
    this.traits = Object.freeze({
      fair: true,
      fenced: true,
      counting: true,
      push: 'hint',
      ttlMsMin: believableMs(parts.sessionMs.min),
      ttlMsMax: believableMs(parts.sessionMs.max),
      lingers: false,
      scope: 'network',
      safety:
        'Holds while a majority of the ensemble keeps its data and the clocks of client and leader run at the same rate, to within a quarter of the session.',
    } as const)
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const asked = instant(this.#parts.runtime)
    const session = this.#sessionOf(entry)
    session.entering++
    try {
      if (session.client.state !== 'connected') await session.ready()
      const known = this.#standings.get(entry.id)
      if (known !== undefined) {
        await known.pending
        return await this.#pend(known, () => session.again(known, asked))
      }
      if (this.#isDead(entry.id, wait)) return null
      const linePath = this.#parts.layout.linePath(entry.line)
      if (!wait && !(await this.#hasRoom(session.client, entry, linePath))) return null
      const standing = new Standing(entry, linePath)
      this.#standings.set(entry.id, standing)
      const place = await this.#pend(standing, () => session.enter(standing, asked))
      if (wait || place === null || isGranted(entry, place)) return place
      // Somebody was faster between the look and the entering.
      await session.leave(standing)
      return null
    } catch (error) {
      throw explained(error, entry.line)
    } finally {
      session.entering--
    }
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const asked = instant(this.#parts.runtime)
    const places: (Place | null)[] = entries.map(() => null)
    const bySession = new Map<PlaceSession, number[]>()
    for (const [i, entry] of entries.entries()) {
      if (this.#standings.get(entry.id)?.state !== 'standing') continue
      const session = this.#sessionOf(entry)
      const indices = bySession.get(session)
      if (indices === undefined) bySession.set(session, [i])
      else indices.push(i)
    }
    try {
      await Promise.all(
        Array.from(bySession, async ([session, indices]) => {
          const standings = indices.map((i) => this.#standings.get((entries[i] as Entry).id) as Standing)
          const answers = await session.touch(standings, asked)
          for (const [at, i] of indices.entries()) places[i] = answers[at] ?? null
        }),
      )
    } catch (error) {
      throw explained(error)
    }
    return places
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    if (afterMs > 0) {
      throw new UnsupportedError(
        'on ZooKeeper a place can not outlive its release: its session ends only with the process',
        { line: entry.line },
      )
    }
    const standing = this.#standings.get(entry.id)
    if (standing === undefined) {
      this.#bury(entry, false)
      return
    }
    await standing.pending
    try {
      await this.#sessionOf(entry).leave(standing)
    } catch (error) {
      throw explained(error, entry.line)
    }
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    if (id === null) return this.#observe(line, wake)
    // What is watched in the store follows from where the place stands: enter and touch see to it.
    this.#wakes.set(id, wake)
    return () => this.#wakes.delete(id)
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    const { layout, runtime } = this.#parts
    try {
      yield* listLines(this.#common(), layout, prefix, () => runtime.wallNow())
    } catch (error) {
      throw explained(error)
    }
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    try {
      return await this.#cells.swap(key, change)
    } catch (error) {
      throw explained(error)
    }
  }

  async break(line: string, now: boolean): Promise<number> {
    const { layout } = this.#parts
    try {
      return await breakLine(this.#common(), this.#ground, layout, layout.linePath(line), now)
    } catch (error) {
      throw explained(error, line)
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#cells.close()
    await this.#sessions.close()
  }

  async #observe(line: string, wake: Wake): Promise<Stop> {
    return new Observer(this.#common(), this.#parts.layout.linePath(line), wake).start()
  }

  /** Keeps others of the same id waiting until it has settled. */
  #pend<T>(standing: Standing, request: () => Promise<T>): Promise<T> {
    const asking = request()
    const pending = asking.then(
      () => undefined,
      () => undefined,
    )
    standing.pending = pending
    return asking
  }

  /** A try looks first: one that finds the line full writes nothing, and nobody sees it. */
  async #hasRoom(client: ZooKeeperClient, entry: Entry, linePath: string): Promise<boolean> {
    const [, line] = await Promise.all([client.sync('/'), readLine(client, this.#parts.layout, linePath)])
    const [oldest] = inOrder(line)
    if (oldest === undefined) return true
    if (oldest.capacity !== entry.capacity) {
      throw new CapacityMismatchError(
        `line ${JSON.stringify(entry.line)} has capacity ${oldest.capacity} while it is in use, asked for ${entry.capacity}`,
        { line: entry.line },
      )
    }
    return isGranted(entry, { ahead: line.reduce((sum, { weight }) => sum + weight, 0) })
  }

  /** One session for each ttl. */
  #sessionOf(entry: Entry): PlaceSession {
    return this.#session(sessionMsFor(entry.ttlMs))
  }

  #common(): ZooKeeperClient {
    return this.#session(COMMON_SESSION_MS).client
  }

  #session(askedMs: number): PlaceSession {
    return this.#sessions.of(this.#granted(askedMs))
  }

  #granted(askedMs: number): number {
    const { min, max } = this.#parts.sessionMs
    return Math.min(Math.max(askedMs, min), max)
  }

  #makeSession(sessionMs: number): PlaceSession {
    return new PlaceSession(this.#parts.connect(sessionMs), {
      layout: this.#parts.layout,
      ground: this.#ground,
      runtime: this.#parts.runtime,
      wake: (id) => this.#wakes.get(id)?.(),
      ended: (standing, how) => {
        this.#standings.delete(standing.entry.id)
        if (how === 'lapsed' || how === 'unanswered') this.#bury(standing.entry, how === 'unanswered')
      },
    })
  }

  #bury(entry: Entry, unanswered: boolean): void {
    const now = this.#parts.runtime.now()
    for (const [other, { until }] of this.#dead) {
      if (until > now) break
      this.#dead.delete(other)
    }
    this.#dead.set(entry.id, { until: now + entry.ttlMs, unanswered })
  }

  #isDead(id: string, wait: boolean): boolean {
    const dead = this.#dead.get(id)
    if (dead === undefined || this.#parts.runtime.now() >= dead.until) return false
    // To a try, null would mean that others hold the line, which nobody has said.
    if (dead.unanswered && !wait) {
      throw new StoreUnreachableError('the ZooKeeper session ended before anybody answered the request to enter')
    }
    return true
  }
}
