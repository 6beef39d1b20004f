/** The places of one ttl that this process stands in: they live by one ZooKeeper session. */
import type { Runtime } from '../../core/runtime.ts'
import { CapacityMismatchError, ClosedError, StoreError, StoreUnreachableError } from '../../core/errors.ts'
import { type Instant, isGranted, type Place } from '../../driver.ts'
import { Blocking } from './blocking.ts'
import { Breaks } from './breaks.ts'
import { isZooKeeperError, type WatchEvent, type ZooKeeperClient } from './client/index.ts'
import { Entrance, type Taken } from './entrance.ts'
import type { Ground } from './ground.ts'
import type { Layout } from './layout.ts'
import { parseLine, readNames } from './line.ts'
import { alone, glanceFrom, type Look, lookFrom } from './look.ts'
import { decodeNode } from './node-data.ts'
import { Pulse } from './pulse.ts'
import { Reaper } from './reaper.ts'
import type { Standing } from './standing.ts'
import { isWhole, Turns } from './turns.ts'
import { Visits } from './visits.ts'

/** `left`: by its own leave. `refused`: it never stood. `unanswered`: nobody said whether it stood. `lapsed`: all else. */
export type Ending = 'left' | 'refused' | 'unanswered' | 'lapsed'

/** What a session needs of its driver. */
export interface Surroundings {
  readonly layout: Layout
  readonly ground: Ground
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
  /** Something about this place may have changed. */
  wake(id: string): void
  ended(standing: Standing, how: Ending): void
}

/** How long a request to enter waits for a connection. */
const READY_MS = 300
/** From when on a waiter's own node is watched: most waits are over sooner. */
const LONG_WAIT_MS = 1_000

export class PlaceSession {
  readonly client: ZooKeeperClient
  /** Requests to enter that are under way, from before they have a standing. */
  entering = 0
  readonly #around: Surroundings
  readonly #standings = new Set<Standing>()
  readonly #turns: Turns
  readonly #breaks: Breaks
  readonly #reaper: Reaper
  readonly #pulse: Pulse
  readonly #entrance: Entrance
  readonly #blocking: Blocking
  readonly #visits: Visits = new Visits((standing) => this.#due(standing))

  constructor(client: ZooKeeperClient, around: Surroundings) {
    this.client = client
    this.#around = around
    this.#turns = new Turns(client, around.layout)
    this.#reaper = new Reaper(client, around.layout, this.#turns, (standing) => this.#end(standing, 'left'))
    this.#pulse = new Pulse(client, around.runtime)
    this.#blocking = new Blocking(client, this.#turns, (id) => around.wake(id))
    this.#breaks = new Breaks(client, around.layout, (id) => around.wake(id))
    this.#entrance = new Entrance(client, around.layout, around.ground)
    client.onState((state) => {
      if (state === 'connected') this.#pulse.connected()
      else if (state === 'expired' || state === 'authFailed') this.#expired()
      // At risk at once: whoever holds asks, and hears that nobody answers.
      else if (state === 'disconnected') for (const { entry } of this.#standings) around.wake(entry.id)
    })
  }

  get isIdle(): boolean {
    return this.entering === 0 && this.#standings.size === 0 && this.#reaper.isIdle
  }

  /**
   * Waits a moment for a server. Core is told soon of an outage, and asks again: a request that waited in the client for
   * its whole time-out would look like a line that is held by others.
   */
  async ready(): Promise<void> {
    if (this.client.state !== 'authFailed') {
      await this.client.connect({ timeoutMs: READY_MS })
    }
  }

  /** Takes a new place. Settles with where it stands, null if it was lost on the way. */
  async enter(standing: Standing, asked: Instant): Promise<Place | null> {
    this.#standings.add(standing)
    let taken: Taken
    try {
      taken = await this.#entrance.take(standing.linePath, standing.entry)
    } catch (error) {
      this.#unmade(standing, error)
      throw error
    }
    this.#stands(standing, taken.path, taken.czxid, taken.sessionId)
    this.#pulse.answered(asked)
    // The node stands; what it means will be asked for again.
    if (taken.names.status === 'rejected') throw taken.names.reason
    const { value: names } = taken.names
    return this.#admit(standing, names === null ? alone(standing.entry) : await this.#look(standing, names), asked)
  }

  /** Asks again for a place that may stand already: after a lost reply the id in its name tells. */
  async again(standing: Standing, asked: Instant): Promise<Place | null> {
    if (standing.state === 'unknown') {
      const found = await this.#reaper.find(standing)
      if (found === null) {
        standing.state = 'entering'
        return this.enter(standing, asked)
      }
      // Made by an earlier session of ours, which is over: the node is about to go, and must not be taken for a hold.
      if (found.stat.ephemeralOwner !== this.client.session?.id) {
        this.#end(standing, 'lapsed')
        this.#reaper.reap(standing)
        return null
      }
      this.#stands(standing, found.path, found.stat.czxid, found.stat.ephemeralOwner)
    }
    const [, names] = await Promise.all([this.client.sync('/'), readNames(this.client, standing.linePath)])
    this.#pulse.answered(asked)
    return this.#admit(standing, await this.#look(standing, names), asked)
  }

  /** Where these stand now; the answer renews them. */
  async touch(standings: readonly Standing[], asked: Instant): Promise<(Place | null)[]> {
    if (this.client.state !== 'connected') {
      throw new StoreUnreachableError(`no ZooKeeper server answers for the session: it is ${this.client.state}`)
    }
    // Whoever was woken just now looks at what the event has shown, however far behind its server is. That the session
    // lives was proven a moment ago; else what the leader answers proves it. What a follower answers alone does not.
    const proven = standings.every(({ woken }) => woken) ? this.#pulse.justAnswered(asked) : null
    const synced = proven === null ? this.client.sync('/') : null
    // Of these the event itself says that nobody is in front: nothing is asked. Whether somebody is behind is not known.
    const turns = new Set(proven === null ? [] : standings.filter(({ isTurn }) => isTurn))
    const lines = new Map<string, Promise<readonly string[]>>()
    for (const standing of standings) {
      const { linePath } = standing
      if (!turns.has(standing) && !lines.has(linePath)) lines.set(linePath, readNames(this.client, linePath))
    }
    const marks = standings.map((standing) => (standing.dirty ? this.#readOwn(standing) : undefined))
    await Promise.all([synced, ...lines.values(), ...marks])
    if (proven === null) this.#pulse.answered(asked)
    return Promise.all(
      standings.map(async (standing) => {
        const look = turns.has(standing)
          ? { ...alone(standing.entry), wanted: true }
          : await this.#look(standing, (await lines.get(standing.linePath)) ?? [])
        return this.#placed(standing, look, proven ?? asked)
      }),
    )
  }

  /** Gives a place up. Rejects if nobody could confirm it; then it goes on by itself. */
  async leave(standing: Standing): Promise<void> {
    if (isOver(standing)) return
    standing.state = 'leaving'
    const wasWatched = standing.ownWatch !== null
    this.#release(standing)
    // Else the server would tell us, too, that we have left. It goes out in one write with the delete, and before it.
    if (wasWatched) this.#blocking.unwatchOwn(standing.path)
    try {
      await this.#reaper.remove(standing)
    } catch (error) {
      if (isOver(standing)) return
      this.#reaper.reap(standing)
      throw error
    }
    this.#end(standing, 'left')
  }

  /** Ends the session, and with it every place, also those of which nobody knew. */
  async close(): Promise<void> {
    this.#pulse.stop()
    this.#visits.stop()
    for (const standing of this.#standings) this.#release(standing)
    await this.client.close()
  }

  /** Nothing can keep this place any more. */
  #end(standing: Standing, how: Ending): void {
    this.#release(standing)
    if (standing.state === 'gone') return
    standing.state = 'gone'
    this.#standings.delete(standing)
    this.#around.ended(standing, how)
  }

  #stands(standing: Standing, path: string, czxid: bigint, sessionId: bigint): void {
    standing.path = path
    standing.token = czxid
    standing.sessionId = sessionId
    standing.lapsesAt = this.#around.runtime.now() + standing.entry.ttlMs
    if (standing.state === 'entering' || standing.state === 'unknown') standing.state = 'standing'
  }

  /** The create failed: is there a node? */
  #unmade(standing: Standing, error: unknown): void {
    const silent = isZooKeeperError(error, 'ConnectionLoss', 'OperationTimeout', 'SessionExpired') && error.sent
    if (!silent) this.#end(standing, 'refused')
    else if (standing.state === 'entering') standing.state = 'unknown'
  }

  /** The first look of a place: it must agree with the line about the capacity, or go without a trace. */
  async #admit(standing: Standing, look: Look | null, asked: Instant): Promise<Place | null> {
    const { entry } = standing
    const capacity = look?.capacity ?? entry.capacity
    if (capacity === entry.capacity) return this.#placed(standing, look, asked)
    await this.leave(standing)
    throw new CapacityMismatchError(
      `line ${JSON.stringify(entry.line)} has capacity ${capacity} while it is in use, asked for ${entry.capacity}`,
      { line: entry.line },
    )
  }

  async #look(standing: Standing, names: readonly string[]): Promise<Look | null> {
    const { entry, linePath, path } = standing
    const { layout } = this.#around
    this.#entrance.saw(linePath, names)
    const glance = glanceFrom(names, path.slice(linePath.length + 1), entry, (name) => layout.parse(name))
    return glance ?? lookFrom(await parseLine(this.client, layout, linePath, names), entry.id)
  }

  /** Judges one look at the line. */
  #placed(standing: Standing, look: Look | null, asked: Instant): Place | null {
    const { entry } = standing
    const { runtime } = this.#around
    const session = this.client.session
    if (standing.state !== 'standing' || standing.broken) return null
    // Deleted by hand, or the session under which it was made is not the one that answered: not a hold.
    if (look === null || session === null || session.id !== standing.sessionId) {
      this.#end(standing, 'lapsed')
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
      since: this.#pulse.since(asked, entry, session.negotiatedMs),
      wanted: look.wanted,
    }
  }

  #watchFor(standing: Standing, look: Look): void {
    standing.granted = isGranted(standing.entry, look)
    standing.wanted = look.wanted
    standing.behindSingle = look.single
    this.#blocking.follow(standing, look)
    const isUnwatched = (standing.granted && standing.ownWatch === null) || this.#breaks.isUnheeded(standing)
    if (standing.timer === null || isUnwatched) this.#visits.expect(standing)
  }

  /** The place has stood for a while: it is watched over from here on, until its lease has run out. */
  #due(standing: Standing): void {
    standing.clearTimer()
    if (standing.state !== 'standing') return
    const leftMs = standing.lapsesAt - this.#around.runtime.now()
    if (leftMs <= 0) {
      this.#lapse(standing)
      return
    }
    // A waiter will be told its turn, and not look whether it still stands: a hand that deletes its node is told as well.
    const isDue = standing.granted || standing.isVisited
    if ((standing.granted || isWhole(standing.entry)) && isDue && standing.ownWatch === null)
      void this.#watchOwn(standing)
    if (this.#breaks.isUnheeded(standing)) void this.#breaks.heed(standing)
    standing.isVisited = true
    standing.timer = setTimeout(() => this.#due(standing), isDue ? leftMs : Math.min(leftMs, LONG_WAIT_MS))
    standing.timer.unref()
  }

  /** Nobody renewed the place: the session would keep it, so it is given up here. */
  #lapse(standing: Standing): void {
    this.#end(standing, 'lapsed')
    this.#reaper.reap(standing)
    this.#around.wake(standing.entry.id)
  }

  async #watchOwn(standing: Standing): Promise<void> {
    try {
      await this.#readOwn(standing)
    } catch (error) {
      // Not armed: the next heartbeat looks at the line itself, and tries again.
      if (!(error instanceof StoreError || error instanceof ClosedError)) throw error
    }
  }

  /** Reads the own node, and watches it: for `break`, and for hands that delete it. */
  async #readOwn(standing: Standing): Promise<void> {
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

  #release(standing: Standing): void {
    standing.clearTimer()
    this.#blocking.forget(standing)
    this.#breaks.forget(standing)
    if (standing.ownWatch !== null) this.client.unwatch(standing.path, standing.ownWatch)
    standing.ownWatch = null
  }

  #expired(): void {
    for (const standing of [...this.#standings]) {
      const isUnanswered = standing.state === 'entering' || standing.state === 'unknown'
      this.#end(standing, isUnanswered ? 'unanswered' : 'lapsed')
      this.#around.wake(standing.entry.id)
      // By our own clock it is over; the servers may keep the node for a while, and the next in line need not wait.
      this.#reaper.reap(standing)
    }
  }
}

/** Asked anew, since a session may end at any await. */
function isOver(standing: Standing): boolean {
  return standing.state === 'gone'
}
