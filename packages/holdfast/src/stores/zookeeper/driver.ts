/** The ZooKeeper driver: a place is an ephemeral sequential node, and its session is the lease. */
import type { Runtime } from '../../contract/runtime.ts'
import { StoreUnreachableError, UnsupportedError } from '../../contract/errors.ts'
import { instant } from '../../contract/validity.ts'
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
} from '../../contract/driver.ts'
import { Tombstones } from '../shared/tombstones.ts'
import { Cells } from './cells.ts'
import { believableMs, sessionMsFor } from './contacts.ts'
import type { ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import { explained } from './errors.ts'
import { ParentNodes } from './parent-nodes.ts'
import type { Layout } from './layout.ts'
import { parseLine, readNames } from './line.ts'
import { inOrder } from './look.ts'
import { capacityError } from '../shared/capacity.ts'
import { fullWeight } from './raise.ts'
import { LineWakeups } from './wakeups-line.ts'
import { PlaceSession } from './session.ts'
import { Sessions } from './sessions.ts'
import { OwnPlace } from './places.ts'
import { strangerAmong, strangerError } from './strangers.ts'
import { breakLine, listLines } from './listing.ts'
import type { Acl } from '../../clients/zookeeper/index.ts'

export interface DriverParts {
  readonly layout: Layout
  /** The node of cells and of the clock. */
  readonly base: string
  readonly acl: readonly Acl[]
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
  /** Makes a client whose session lasts that long. */
  readonly connect: (sessionMs: number) => ZooKeeperClient
  /** The shortest and the longest session to ask for. */
  readonly sessionMs: { readonly min: number; readonly max: number }
  /** How long to keep a session by which no place lives. Default 60 000. */
  readonly idleMs?: number
}

/** The session for what belongs to no place: lists, cells, observers. */
const COMMON_SESSION_MS = 10_000
const IDLE_MS = 60_000

export class ZookeeperDriver implements Driver {
  readonly name = 'zookeeper'
  readonly traits: Traits
  readonly #parts: DriverParts
  readonly #parents: ParentNodes
  readonly #cells: Cells
  readonly #sessions: Sessions<PlaceSession>
  readonly #ownPlaces = new Map<string, OwnPlace>()
  readonly #wakes = new Map<string, Wake>()
  /** Ids that must not come back, and until when a late enter of theirs could come. */
  readonly #tombstones = new Tombstones<{ readonly unanswered: boolean }>()
  #closing: Promise<void> | null = null

  /** @internal */
  constructor(parts: DriverParts) {
    this.#parts = parts
    this.#parents = new ParentNodes(parts.acl, parts.layout.containers)
    this.#sessions = new Sessions({
      make: (sessionMs) => this.#makeSession(sessionMs),
      now: () => parts.runtime.now(),
      idleMs: parts.idleMs ?? IDLE_MS,
      lastingMs: this.#granted(COMMON_SESSION_MS),
    })
    this.#cells = new Cells(() => this.#common(), this.#parents, parts.base)
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
        'Holds while a majority of the ensemble keeps its data and the clocks of client and leader run at the ' +
        'same rate, to within a quarter of the session.',
    } as const)
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const asked = instant(this.#parts.runtime)
    const session = this.#sessionOf(entry)
    session.entering++
    try {
      if (session.client.state !== 'connected') await session.ready()
      const known = this.#ownPlaces.get(entry.id)
      if (known !== undefined) {
        await known.pending
        return await this.#pend(known, () => session.again(known, asked))
      }
      if (this.#isDead(entry.id, wait)) return null
      const linePath = this.#parts.layout.linePath(entry.line)
      if (!wait && !(await this.#hasRoom(session.client, entry, linePath))) return null
      const standing = new OwnPlace(entry, linePath)
      this.#ownPlaces.set(entry.id, standing)
      const place = await this.#pend(standing, () => session.enter(standing, asked))
      if (wait || place === null || isGranted(entry, place)) return place
      // Somebody was faster between the look and our enter.
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
      if (this.#ownPlaces.get(entry.id)?.state !== 'standing') continue
      const session = this.#sessionOf(entry)
      const indices = bySession.get(session)
      if (indices === undefined) bySession.set(session, [i])
      else indices.push(i)
    }
    try {
      await Promise.all(
        Array.from(bySession, async ([session, indices]) => {
          const ownPlaces = indices.map((i) => this.#ownPlaces.get((entries[i] as Entry).id) as OwnPlace)
          const answers = await session.touch(ownPlaces, asked)
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
        "ZooKeeper can't keep a lock after its release: its session ends only with the process",
        { line: entry.line },
      )
    }
    const standing = this.#ownPlaces.get(entry.id)
    if (standing === undefined) {
      this.#tombstones.add(entry, this.#parts.runtime.now(), { unanswered: false })
      return
    }
    await standing.pending
    try {
      await this.#sessionOf(entry).leave(standing)
    } catch (error) {
      throw explained(error, entry.line)
    }
  }

  async reweigh(entry: Entry, turn: number): Promise<Place | null> {
    const asked = instant(this.#parts.runtime)
    const standing = this.#ownPlaces.get(entry.id)
    if (standing === undefined) return null
    await standing.pending
    if (standing.state !== 'standing') return null
    try {
      return await this.#sessionOf(entry).reweigh(standing, entry.weight, turn, asked)
    } catch (error) {
      throw explained(error, entry.line)
    }
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    if (id === null) return this.#observe(line, wake)
    // What is watched in the store depends on where the place stands: enter and touch look after that.
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
      const broken = await breakLine(this.#common(), this.#parents, layout, line, now)
      // The places of this process must know at once, whatever they do next.
      for (const standing of now ? [] : this.#ownPlaces.values()) {
        if (broken.includes(standing.path)) this.#sessionOf(standing.entry).broke(standing)
      }
      return broken.length
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
    return new LineWakeups(this.#common(), this.#parts.layout.linePath(line), wake).start()
  }

  /** Keeps others of the same id waiting until the request has settled. */
  #pend<T>(standing: OwnPlace, request: () => Promise<T>): Promise<T> {
    const asking = request()
    const pending = asking.then(
      () => undefined,
      () => undefined,
    )
    standing.pending = pending
    return asking
  }

  /** A try looks first: if it finds the line full, it writes nothing, and nobody sees it. */
  async #hasRoom(client: ZooKeeperClient, entry: Entry, linePath: string): Promise<boolean> {
    const { layout } = this.#parts
    const [, names] = await Promise.all([client.sync('/'), readNames(client, linePath)])
    const stranger = await strangerAmong(client, layout, linePath, names)
    if (stranger !== null) throw strangerError(entry.line, stranger)
    const line = await parseLine(client, layout, linePath, names)
    const [oldest] = inOrder(line)
    if (oldest === undefined) return true
    if (oldest.capacity !== entry.capacity) {
      throw capacityError(entry, oldest.capacity)
    }
    return isGranted(entry, { ahead: line.reduce((sum, place) => sum + fullWeight(place), 0) })
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
      parents: this.#parents,
      runtime: this.#parts.runtime,
      wake: (id) => this.#wakes.get(id)?.(),
      ended: (standing, how) => {
        this.#ownPlaces.delete(standing.entry.id)
        if (how !== 'lapsed' && how !== 'unanswered') return
        this.#tombstones.add(standing.entry, this.#parts.runtime.now(), { unanswered: how === 'unanswered' })
      },
    })
  }

  #isDead(id: string, wait: boolean): boolean {
    const dead = this.#tombstones.find(id, this.#parts.runtime.now())
    if (dead === undefined) return false
    // For a try, null would mean that others hold the line, which no server has said.
    if (dead.unanswered && !wait) {
      throw new StoreUnreachableError('the ZooKeeper session ended before anybody answered the request to enter')
    }
    return true
  }
}
