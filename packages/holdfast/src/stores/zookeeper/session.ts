/** The places of one ttl in this process: they live by one ZooKeeper session. */
import type { Runtime } from '../../contract/runtime.ts'
import { ClosedError, StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import { type Instant, isGranted, type Place } from '../../contract/driver.ts'
import { capacityError } from '../shared/capacity.ts'
import { Wakeups } from './wakeups.ts'
import { BreakWakeups } from './wakeups-breaks.ts'
import { isZooKeeperError, type WatchEvent, type ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import { Entrance, type TakenPlace } from './entrance.ts'
import type { ParentNodes } from './parent-nodes.ts'
import type { Layout } from './layout.ts'
import { parseLine, readNames } from './line.ts'
import { alone, glanceFrom, type Look, lookFrom } from './look.ts'
import { decodeNode } from './node-data.ts'
import { SessionHeartbeat } from './heartbeat.ts'
import { Cleanup } from './cleanup.ts'
import { Reweighing } from './reweighing.ts'
import type { OwnPlace } from './places.ts'
import { strangerAmong, strangerError, warnOfStranger } from './strangers.ts'
import { isWhole, Handover } from './handover.ts'
import { HoldWakeups } from './wakeups-holds.ts'

/** `left`: by its own leave. `refused`: it never stood. `unanswered`: nobody knows if it stood. `lapsed`: all else. */
export type Ending = 'left' | 'refused' | 'unanswered' | 'lapsed'

/** What a session needs of its driver. */
export interface Surroundings {
  readonly layout: Layout
  readonly parents: ParentNodes
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
  /** Something about this place may have changed. */
  wake(id: string): void
  ended(standing: OwnPlace, how: Ending): void
}

/** How long a request to enter waits for a connection. */
const READY_MS = 300
/** After this long a waiter's own node is watched; most waits are over sooner. */
const LONG_WAIT_MS = 1_000

export class PlaceSession {
  readonly client: ZooKeeperClient
  /** Requests to enter that are under way, counted even before their place exists. */
  entering = 0
  readonly #around: Surroundings
  readonly #ownPlaces = new Set<OwnPlace>()
  readonly #handover: Handover
  readonly #breaks: BreakWakeups
  readonly #cleanup: Cleanup
  readonly #reweighing: Reweighing
  readonly #heartbeat: SessionHeartbeat
  readonly #entrance: Entrance
  readonly #blocking: Wakeups
  readonly #holdWakeups: HoldWakeups = new HoldWakeups((standing) => this.#due(standing))

  constructor(client: ZooKeeperClient, around: Surroundings) {
    this.client = client
    this.#around = around
    this.#handover = new Handover(client, around.layout)
    this.#reweighing = new Reweighing(client, around.layout, around.parents)
    this.#cleanup = new Cleanup(client, around.layout, this.#handover, this.#reweighing, around.runtime, (standing) =>
      this.#end(standing, 'left'),
    )
    this.#heartbeat = new SessionHeartbeat(client, around.runtime)
    this.#blocking = new Wakeups(client, this.#handover, (id) => around.wake(id))
    this.#breaks = new BreakWakeups(client, around.layout, (id) => around.wake(id))
    this.#entrance = new Entrance(client, around.layout, around.parents)
    client.onState((state) => {
      if (state === 'connected') this.#heartbeat.connected()
      else if (state === 'expired' || state === 'authFailed') this.#expired()
      // At risk at once: each holder asks, and learns that no server answers.
      else if (state === 'disconnected') for (const { entry } of this.#ownPlaces) around.wake(entry.id)
    })
  }

  get isIdle(): boolean {
    return this.entering === 0 && this.#ownPlaces.size === 0 && this.#cleanup.isIdle
  }

  /** Waits a moment for a server. After a whole time-out a try would take the outage for a lock held by others. */
  async ready(): Promise<void> {
    if (this.client.state !== 'authFailed') {
      await this.client.connect({ timeoutMs: READY_MS })
    }
  }

  /** Takes a new place. Settles with where it stands; null if it was lost on the way. */
  async enter(standing: OwnPlace, asked: Instant): Promise<Place | null> {
    this.#ownPlaces.add(standing)
    let taken: TakenPlace
    try {
      taken = await this.#entrance.take(standing.linePath, standing.entry)
    } catch (error) {
      this.#unmade(standing, error)
      throw error
    }
    this.#stands(standing, taken.path, taken.czxid, taken.sessionId)
    this.#heartbeat.answered(asked)
    // The node exists; the next request asks where it stands.
    if (taken.names.status === 'rejected') throw taken.names.reason
    const { value: names } = taken.names
    if (names === null) return this.#admit(standing, alone(standing.entry), asked)
    await this.#refuseStrangers(standing, names)
    return this.#admit(standing, await this.#look(standing, names), asked)
  }

  /** Asks again for a place that may exist already: after a lost reply the id in the name tells. */
  async again(standing: OwnPlace, asked: Instant): Promise<Place | null> {
    if (standing.state === 'unknown') {
      const found = await this.#cleanup.find(standing)
      if (found === null) {
        standing.state = 'entering'
        return this.enter(standing, asked)
      }
      // An earlier session of ours made the node, and is over: the node is about to go, and must not count as a hold.
      if (found.stat.ephemeralOwner !== this.client.session?.id) {
        this.#end(standing, 'lapsed')
        this.#cleanup.reap(standing)
        return null
      }
      this.#stands(standing, found.path, found.stat.czxid, found.stat.ephemeralOwner)
    }
    const [, names] = await Promise.all([this.client.sync('/'), readNames(this.client, standing.linePath)])
    this.#heartbeat.answered(asked)
    await this.#refuseStrangers(standing, names)
    return this.#admit(standing, await this.#look(standing, names), asked)
  }

  /** Where these places stand now; the answer renews them. */
  async touch(ownPlaces: readonly OwnPlace[], asked: Instant): Promise<(Place | null)[]> {
    if (this.client.state !== 'connected') {
      throw new StoreUnreachableError(`no ZooKeeper server answers for the session: it is ${this.client.state}`)
    }
    // A woken place looks at what the event has shown, however far behind its server is. A recent answer of the leader
    // proves that the session lives; without one, ask the leader. A follower's own answer proves nothing.
    const proven = ownPlaces.every(({ woken }) => woken) ? this.#heartbeat.justAnswered(asked) : null
    const synced = proven === null ? this.client.sync('/') : null
    // For these places the event itself says that nobody is ahead, so nothing is asked. Who is behind is not known.
    const handover = new Set(proven === null ? [] : ownPlaces.filter(({ isTurn }) => isTurn))
    const lines = new Map<string, Promise<readonly string[]>>()
    for (const standing of ownPlaces) {
      const { linePath } = standing
      if (!handover.has(standing) && !lines.has(linePath)) lines.set(linePath, readNames(this.client, linePath))
    }
    const marks = ownPlaces.map((standing) => (standing.dirty ? this.#readOwn(standing) : undefined))
    await Promise.all([synced, ...lines.values(), ...marks])
    if (proven === null) this.#heartbeat.answered(asked)
    return Promise.all(
      ownPlaces.map(async (standing) => {
        if (handover.has(standing))
          return this.#placed(standing, { ...alone(standing.entry), wanted: true }, proven ?? asked)
        const names = (await lines.get(standing.linePath)) ?? []
        const look = (await this.#isAmongStrangers(standing, names)) ? null : await this.#look(standing, names)
        return this.#placed(standing, look, proven ?? asked)
      }),
    )
  }

  /** Changes the weight of a place, unless a later change of mind was faster; then returns where it stands. */
  async reweigh(standing: OwnPlace, weight: number, turn: number, asked: Instant): Promise<Place | null> {
    if (turn > standing.turn) Object.assign(standing, { turn, weight, isWeighed: false })
    await this.#reweighing.settle(standing)
    return (await this.touch([standing], asked))[0] ?? null
  }

  /** The place is not renewed any more, and counts until its lease has run out. */
  broke(standing: OwnPlace): void {
    if (standing.broken || standing.state !== 'standing') return
    standing.broken = true
    this.#around.wake(standing.entry.id)
  }

  /** Gives a place up. Rejects if no server could confirm it, and then goes on in the background. */
  async leave(standing: OwnPlace): Promise<void> {
    if (isOver(standing)) return
    // A place that is broken while it is being removed goes by the cleanup, when its lease is over.
    if (standing.broken && standing.path !== '') return this.#outlast(standing)
    standing.state = 'leaving'
    const wasWatched = standing.ownWatch !== null
    this.#release(standing)
    // Or the server would notify us of our own leaving. This goes out in one write with the delete, and before it.
    if (wasWatched) this.#blocking.unwatchOwn(standing.path)
    try {
      await this.#cleanup.remove(standing)
    } catch (error) {
      if (isOver(standing)) return
      if (isZooKeeperError(error, 'BadVersion')) {
        standing.state = 'standing'
        standing.broken = true
        return this.#outlast(standing)
      }
      this.#cleanup.reap(standing)
      throw error
    }
    this.#end(standing, 'left')
  }

  /** A broken place stays until its lease has run out, even if its owner lets go: the owner's work may still go on. */
  #outlast(standing: OwnPlace): void {
    if (standing.timer === null) this.#due(standing)
  }

  /** Ends the session, and with it every place, even those that nobody knew of. */
  async close(): Promise<void> {
    this.#heartbeat.stop()
    this.#holdWakeups.stop()
    const now = this.#around.runtime.now()
    const isBroken = [...this.#ownPlaces].some(({ broken, lapsesAt }) => broken && lapsesAt > now)
    for (const standing of this.#ownPlaces) this.#release(standing)
    // A broken place stays for a lease: so its session is left to end by itself.
    await this.client.close({ abandon: isBroken })
  }

  /** Nothing can keep this place any more. */
  #end(standing: OwnPlace, how: Ending): void {
    this.#release(standing)
    if (standing.state === 'gone') return
    standing.state = 'gone'
    this.#ownPlaces.delete(standing)
    this.#around.ended(standing, how)
  }

  #stands(standing: OwnPlace, path: string, czxid: bigint, sessionId: bigint): void {
    standing.path = path
    standing.token = czxid
    standing.sessionId = sessionId
    standing.lapsesAt = this.#around.runtime.now() + standing.entry.ttlMs
    if (standing.state === 'entering' || standing.state === 'unknown') standing.state = 'standing'
  }

  /** The create failed: does the node exist? */
  #unmade(standing: OwnPlace, error: unknown): void {
    const silent = isZooKeeperError(error, 'ConnectionLoss', 'OperationTimeout', 'SessionExpired') && error.sent
    if (!silent) this.#end(standing, 'refused')
    else if (standing.state === 'entering') standing.state = 'unknown'
  }

  /** The first look at a place: its capacity must be that of the line, or the place goes without a trace. */
  async #admit(standing: OwnPlace, look: Look | null, asked: Instant): Promise<Place | null> {
    const { entry } = standing
    const capacity = look?.capacity ?? entry.capacity
    if (capacity === entry.capacity) return this.#placed(standing, look, asked)
    await this.leave(standing)
    throw capacityError(entry, capacity)
  }

  /** If an unreadable node stands beside the place, the place goes without a trace, and its owner gets an error. */
  async #refuseStrangers(standing: OwnPlace, names: readonly string[]): Promise<void> {
    const { entry, linePath } = standing
    const stranger = await strangerAmong(this.client, this.#around.layout, linePath, names)
    if (stranger === null || standing.granted) return
    await this.leave(standing)
    throw strangerError(entry.line, stranger)
  }

  /** Such a node has come while this place waits: the place is given up, and its owner enters again and is refused. */
  async #isAmongStrangers(standing: OwnPlace, names: readonly string[]): Promise<boolean> {
    const { layout } = this.#around
    const stranger = await strangerAmong(this.client, layout, standing.linePath, names)
    if (stranger === null) return false
    if (!standing.granted) {
      this.#cleanup.reap(standing)
      return true
    }
    warnOfStranger(standing.entry.line, stranger)
    return false
  }

  async #look(standing: OwnPlace, names: readonly string[]): Promise<Look | null> {
    const { entry, linePath, path } = standing
    const { layout } = this.#around
    this.#entrance.saw(linePath, names)
    const glance = glanceFrom(names, path.slice(linePath.length + 1), entry, (name) => layout.parse(name))
    return glance ?? lookFrom(await parseLine(this.client, layout, linePath, names), entry.id, standing.granted)
  }

  /** Judges one look at the line. */
  #placed(standing: OwnPlace, look: Look | null, asked: Instant): Place | null {
    const { entry } = standing
    const { runtime } = this.#around
    const session = this.client.session
    if (standing.state !== 'standing' || standing.broken) return null
    // Somebody deleted the node, or another session answered than the one that made it: this is no hold.
    if (look === null || session === null || session.id !== standing.sessionId) {
      this.#end(standing, 'lapsed')
      // Or the answer that told its name, or the session's, was wrong, and the node stands, kept alive by the session.
      this.#cleanup.reap(standing)
      return null
    }
    // Nobody asked for a whole lease: it has lapsed, even if the timer that says so is late.
    if (runtime.now() >= standing.lapsesAt) {
      this.#lapse(standing)
      return null
    }
    standing.lapsesAt = runtime.now() + entry.ttlMs
    this.#watchFor(standing, look)
    return {
      token: standing.token,
      ahead: look.ahead,
      recheckMs: null,
      since: this.#heartbeat.since(asked, entry, session.negotiatedMs),
      wanted: look.wanted,
    }
  }

  #watchFor(standing: OwnPlace, look: Look): void {
    standing.granted = isGranted(standing.entry, look)
    standing.wanted = look.wanted
    standing.behindSingle = look.single
    this.#blocking.follow(standing, look)
    const isUnwatched = (standing.granted && standing.ownWatch === null) || this.#breaks.isUnheeded(standing)
    if (standing.timer === null || isUnwatched) this.#holdWakeups.expect(standing)
  }

  /** The place has stood for a while: from here on it is watched, until its lease has run out. */
  #due(standing: OwnPlace): void {
    standing.clearTimer()
    if (standing.state !== 'standing') return
    const leftMs = standing.lapsesAt - this.#around.runtime.now()
    if (leftMs <= 0) {
      this.#lapse(standing)
      return
    }
    // A waiter learns its turn from an event, without a look at its own node. So it must hear when a person deletes it.
    const isDue = standing.granted || standing.isVisited
    if ((standing.granted || isWhole(standing.entry)) && isDue && standing.ownWatch === null)
      void this.#watchOwn(standing)
    if (this.#breaks.isUnheeded(standing)) void this.#breaks.heed(standing)
    standing.isVisited = true
    standing.timer = setTimeout(() => this.#due(standing), isDue ? leftMs : Math.min(leftMs, LONG_WAIT_MS))
    standing.timer.unref()
  }

  /** Nobody renewed the place. The session would keep it, so give it up here. */
  #lapse(standing: OwnPlace): void {
    this.#end(standing, 'lapsed')
    this.#cleanup.reap(standing)
    this.#around.wake(standing.entry.id)
  }

  async #watchOwn(standing: OwnPlace): Promise<void> {
    try {
      await this.#readOwn(standing)
    } catch (error) {
      // The watch is not armed: the next heartbeat looks at the line itself, and tries again.
      if (!(error instanceof StoreError || error instanceof ClosedError)) throw error
    }
  }

  /** Reads the place's own node, and watches it: for `break`, and for people who delete it. */
  async #readOwn(standing: OwnPlace): Promise<void> {
    const changed = (event: WatchEvent): void => {
      if (standing.ownWatch !== changed) return
      standing.ownWatch = null
      standing.dirty = true
      if (event.type !== 'lost') this.#around.wake(standing.entry.id)
    }
    standing.ownWatch = changed
    standing.dirty = false
    try {
      const { data } = await this.client.getData(standing.path, { watch: changed })
      if (!decodeNode(data).broken || standing.broken) return
      standing.broken = true
      this.#around.wake(standing.entry.id)
    } catch (error) {
      if (!isZooKeeperError(error, 'NoNode')) {
        standing.ownWatch = null
        standing.dirty = true
        throw error
      }
      this.#around.wake(standing.entry.id)
    }
  }

  #release(standing: OwnPlace): void {
    standing.clearTimer()
    this.#blocking.forget(standing)
    this.#breaks.forget(standing)
    if (standing.ownWatch !== null) this.client.unwatch(standing.path, standing.ownWatch)
    standing.ownWatch = null
  }

  #expired(): void {
    for (const standing of [...this.#ownPlaces]) {
      const isUnanswered = standing.state === 'entering' || standing.state === 'unknown'
      this.#end(standing, isUnanswered ? 'unanswered' : 'lapsed')
      this.#around.wake(standing.entry.id)
      // By our own clock the place is over. Servers may keep its node for a while, and the next in line need not wait.
      this.#cleanup.reap(standing)
    }
  }
}

/** Asked again after each await, because a session may end at any of them. */
function isOver(standing: OwnPlace): boolean {
  return standing.state === 'gone'
}
