/**
 * The session's machine: keeps a link to some server, keeps the session alive on that link, and settles every request.
 */
import { isDeepStrictEqual } from 'node:util'
import { StoreError, UsageError } from '../../contract/errors.ts'
import { Deadline } from '../../stores/shared/deadline.ts'
import { closedError, settle, unanswered } from './answers.ts'
import { Call, Calls } from './calls.ts'
import { errnoOf, type UnansweredKind, ZooKeeperError } from './errors.ts'
import { connectFrame, type Grant, heartbeatFrame, readGrant } from './handshake.ts'
import { JuteReader, MalformedReplyError } from './jute.ts'
import { Link } from './link.ts'
import type { Identity, ResolvedOptions } from './options.ts'
import { Proof, PROOF_NEEDED, type ProofLevel } from './proof.ts'
import { Xid } from './protocol.ts'
import { authenticate, closeSession, type Request } from './requests.ts'
import type { Servers } from './servers.ts'
import { Session } from './session.ts'
import { States, tell } from './states.ts'
import type { Rearming, Watches } from './watches.ts'

const ATTEMPT_MS_MAX = 3_000
const ATTEMPT_MS_MIN = 250
const BACKOFF_MS_MIN = 50
const BACKOFF_MS_MAX = 1_000
/** A link that lasted this long was no accident: after it the back-off starts anew. */
const PROVEN_MS = 1_000
const SESSION_EXPIRED = errnoOf('SessionExpired')
/** The connected server answers this alone, without asking others. */
const THROTTLED = errnoOf('Throttled')

export class Channel {
  readonly states: States = new States()
  readonly #options: ResolvedOptions
  readonly #now: () => number
  readonly #servers: Servers
  readonly #watches: Watches
  readonly #calls = new Calls()
  readonly #due: Deadline
  readonly #identities: Identity[]
  readonly #proofNeeded: ProofLevel
  #session: Session | null = null
  #lastZxid = 0n
  #link: Link | null = null
  #established = false
  #retry: NodeJS.Timeout | null = null
  #closing: Promise<boolean> | null = null
  #flushing = false
  #lastFailure: Error | null = null
  // Of the present link:
  #connectSentAt = 0
  #establishedAt = 0
  #heartbeatSentAt = Number.NaN
  #identitiesUnanswered: Identity[] = []
  #rearmings: Rearming[] = []

  constructor(options: ResolvedOptions, servers: Servers, watches: Watches) {
    this.#options = options
    this.#now = options.now
    this.#servers = servers
    this.#watches = watches
    this.#identities = [...options.identities]
    this.#proofNeeded = PROOF_NEEDED[options.heartbeat]
    this.#due = new Deadline(() => this.#onDue(), options.now)
    this.#due.keepAlive(options.ref)
  }

  get session(): Session | null {
    return this.#session
  }

  get lastZxid(): bigint {
    return this.#lastZxid
  }

  get lastFailure(): Error | null {
    return this.#lastFailure
  }

  /** Queues a request. `build` encodes it; if `build` throws, the promise rejects. */
  call<T>(build: () => Request<T>, timeoutMs: number): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closing !== null) throw closedError()
      this.#enqueue(build(), this.#calls.nextXid(), timeoutMs, resolve, reject)
    })
  }

  /** Adds an identity to the session, now and on every later connection. */
  authenticate(identity: Identity, timeoutMs: number): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      if (this.#closing !== null) throw closedError()
      this.#enqueue(authenticate(identity), Xid.auth, timeoutMs, resolve, reject)
      if (!this.#identities.some((known) => isDeepStrictEqual(known, identity))) this.#identities.push(identity)
    })
  }

  /** Starts connecting, if that has not begun yet. */
  start(): void {
    if (this.states.current !== 'idle') return
    this.states.become('connecting')
    this.#open()
  }

  /** After an expiry: opens a new session. Otherwise does nothing. */
  renew(): void {
    if (this.states.current !== 'expired' || this.#closing !== null) return
    this.states.become('connecting')
    this.#open()
  }

  /** Ends the session at the server if it can be reached in time; true: the server confirmed it. */
  close(timeoutMs: number, abandon = false): Promise<boolean> {
    this.#closing ??= this.#close(timeoutMs, abandon)
    return this.#closing
  }

  async #close(timeoutMs: number, abandon: boolean): Promise<boolean> {
    let confirmed = false
    if (this.#session !== null && !this.states.isFinal && !abandon) {
      if (!this.#established) this.#fail(this.#calls.takeUnsent(), () => closedError())
      try {
        await new Promise<void>((resolve, reject) => {
          this.#enqueue(closeSession(), this.#calls.nextXid(), timeoutMs, resolve, reject)
        })
        confirmed = true
      } catch (error) {
        // Unconfirmed: the server ends the session when its time is over. Close can only answer false.
        if (!(error instanceof StoreError)) throw error
      }
    }
    this.#dropLink()
    this.#due.clear()
    const calls = [...this.#calls.takeSent(), ...this.#calls.takeUnsent()]
    this.#watches.forgetAll()
    this.states.become('closed')
    this.#fail(calls, () => closedError())
    return confirmed
  }

  #enqueue<T>(
    request: Request<T>,
    xid: number,
    timeoutMs: number,
    resolve: (value: T) => void,
    reject: (error: Error) => void,
  ): void {
    const bytes = request.frame.length - 4
    if (bytes > this.#options.maxRequestBytes) {
      throw new UsageError(
        `${request.name} ${request.path} is a request of ${bytes} bytes, allowed are ` +
          `${this.#options.maxRequestBytes}: servers cut the link on larger ones unless their jute.maxbuffer ` +
          `and maxRequestBytes are raised`,
      )
    }
    const state = this.states.current
    if (state === 'expired' && !this.#options.renew)
      throw unanswered('SessionExpired', request, false, 'the session has expired; call renew()')
    if (state === 'authFailed') throw unanswered('AuthFailed', request, false, 'authentication has failed')
    const call = new Call(request, xid, xid === Xid.auth, this.#now() + timeoutMs, resolve, reject)
    this.#calls.add(call)
    this.#due.keepAlive(true)
    this.#due.set(call.deadline)
    if (state === 'idle') this.start()
    else if (this.#established) this.#scheduleFlush()
  }

  /** All requests of one tick leave in one write. */
  #scheduleFlush(): void {
    if (this.#flushing) return
    this.#flushing = true
    process.nextTick(() => {
      this.#flushing = false
      if (this.#established) this.#send([])
    })
  }

  #send(first: Buffer[]): void {
    const now = this.#now()
    const frames = this.#calls.send(now, first)
    if (frames.length === 0) return
    this.#link?.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames))
  }

  #open(): void {
    this.#retry = null
    const { tls, maxFrameBytes, ref } = this.#options
    this.#link = new Link(
      this.#servers.next(),
      { tls, maxFrameBytes, ref, attemptMs: this.#attemptMs() },
      {
        open: () => this.#greet(),
        frame: (frame) => (this.#established ? this.#onFrame(frame) : this.#onGrant(readGrant(frame))),
        end: (cause) => this.#onLinkEnd(cause),
      },
    )
  }

  /** Two thirds of the session time, shared among the servers, so that each gets a turn before the session is over. */
  #attemptMs(): number {
    const share = ((this.#sessionMs() / 3) * 2) / this.#servers.count
    const ceiling = Math.min(share, ATTEMPT_MS_MAX)
    if (this.#session === null) return Math.max(ceiling, ATTEMPT_MS_MIN)
    const left = (this.#session.deadline - this.#now()) / this.#servers.count
    return Math.max(Math.min(ceiling, left), ATTEMPT_MS_MIN)
  }

  #sessionMs(): number {
    return this.#session?.negotiatedMs ?? this.#options.sessionTimeoutMs
  }

  #greet(): void {
    this.#connectSentAt = this.#now()
    const proof = this.#session?.proof() ?? null
    this.#link?.write(connectFrame(this.#lastZxid, this.#options.sessionTimeoutMs, proof))
  }

  #onGrant(grant: Grant): void {
    const link = this.#link
    if (link === null) return
    if (grant.timeoutMs <= 0) {
      if (this.#session === null) return link.end(new StoreError(`${link.server}: the server refused a new session`))
      return this.#expire(new StoreError(`${link.server}: the server has ended the session`))
    }
    if (grant.readOnly)
      return link.end(new StoreError(`${link.server}: the server is cut off from its quorum (read-only)`))
    if (this.#session === null) this.#session = new Session(grant, this.#options.sessionTimeoutMs, this.#connectSentAt)
    else if (this.#session.id === grant.sessionId) this.#session.moved(grant)
    else return link.end(new MalformedReplyError(`${link.server}: the server granted another session than asked for`))
    // The server asked the leader before it took the session over.
    if (this.#proofNeeded <= Proof.leader) this.#session.answered(this.#connectSentAt)
    link.established()
    this.#established = true
    this.#establishedAt = this.#now()
    this.#heartbeatSentAt = Number.NaN
    // In this order: who I am, what I watch, then the waiting requests. The relative zxid must be the one from before
    // any answer of this link, or the server would not report what changed while there was no connection.
    this.#identitiesUnanswered = [...this.#identities]
    this.#rearmings = this.#watches.rearm(this.#lastZxid)
    const known = this.#identities.map((identity) => authenticate(identity).frame)
    this.#send([...known, ...this.#rearmings.map((rearming) => rearming.frame)])
    this.#setDue()
    this.states.become('connected')
  }

  #onFrame(frame: Buffer): void {
    const reply = new JuteReader(frame)
    const xid = reply.int()
    const zxid = reply.long()
    const errno = reply.int()
    switch (xid) {
      case Xid.event:
        return this.#onEvent(reply)
      case Xid.ping:
        if (errno !== THROTTLED) this.#session?.answered(this.#heartbeatSentAt)
        this.#heartbeatSentAt = Number.NaN
        return
      case Xid.auth:
        return this.#onAuth(errno)
      case Xid.setWatches:
        return this.#onRearmed(errno)
      default:
        // The highest zxid answered, so that no server may show an older tree than was seen. Never that of an event:
        // after a cut between two events of one transaction the server would believe that both had arrived.
        if (zxid > this.#lastZxid) this.#lastZxid = zxid
        return this.#onAnswer(this.#calls.answered(xid), errno, reply)
    }
  }

  #onAnswer(call: Call, errno: number, reply: JuteReader): void {
    if (call.request.proof >= this.#proofNeeded && errno !== THROTTLED) this.#session?.answered(call.sentAt)
    if (!call.settled) settle(call, errno, reply, this.#watches)
    if (this.#calls.waiting === 0) this.#due.keepAlive(this.#options.ref)
    if (errno === SESSION_EXPIRED) this.#expire(new StoreError('the server has ended the session'))
  }

  #onEvent(reply: JuteReader): void {
    const type = reply.int()
    reply.int() // the state of the server's side; always connected when it can tell
    for (const [callback, event] of this.#watches.fire(type, reply.ustring())) tell(callback, event)
  }

  #onAuth(errno: number): void {
    const known = this.#identitiesUnanswered.shift()
    const call = known === undefined ? this.#calls.answeredAuth() : null
    if (errno !== 0) {
      const scheme = known?.scheme ?? call?.request.path ?? ''
      const error = new ZooKeeperError(errno, { request: 'auth', path: scheme })
      if (call !== null && !call.settled) call.reject(error)
      return this.#finish('authFailed', 'AuthFailed', error)
    }
    if (call !== null && !call.settled) call.resolve(undefined)
    if (this.#calls.waiting === 0) this.#due.keepAlive(this.#options.ref)
  }

  #onRearmed(errno: number): void {
    const entries = this.#rearmings.shift()?.entries ?? []
    const told = errno === 0 ? this.#watches.gaps(entries) : this.#watches.lose(entries)
    for (const [callback, event] of told) tell(callback, event)
  }

  #onLinkEnd(cause: Error): void {
    this.#lastFailure = cause
    if (this.#established && this.#now() - this.#establishedAt >= PROVEN_MS) this.#servers.proven()
    this.#dropLink()
    const lost = this.#calls.takeSent()
    const capMs = Math.min(Math.max(this.#sessionMs() / 10, BACKOFF_MS_MIN), BACKOFF_MS_MAX)
    this.#retry = setTimeout(() => this.#open(), this.#servers.failed(capMs))
    if (!this.#options.ref) this.#retry.unref()
    this.#setDue()
    if (this.#session !== null) this.states.become('disconnected', cause)
    this.#fail(lost, (call) => unanswered('ConnectionLoss', call.request, true, 'the connection was lost', cause))
  }

  /** Drops the link, or the plan to open one. */
  #dropLink(): void {
    this.#established = false
    this.#link?.drop()
    this.#link = null
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#retry = null
  }

  #onDue(): void {
    const now = this.#now()
    for (const call of this.#calls.overdue(now)) {
      const why = call.sent ? 'no answer in time' : 'no server could be reached in time'
      const cause = call.sent ? undefined : (this.#lastFailure ?? undefined)
      call.reject(unanswered('OperationTimeout', call.request, call.sent, why, cause))
    }
    if (this.#calls.waiting === 0) this.#due.keepAlive(this.#options.ref)
    const session = this.#session
    if (session !== null && now >= session.deadline) {
      return this.#expire(new StoreError(`nobody answered for the session during its ${session.negotiatedMs} ms`))
    }
    if (this.#established && session !== null) this.#tend(session, now)
    this.#setDue()
  }

  /**
   * After a third of the session time without proof, send a heartbeat. After another third without its answer, leave
   * the link: the last third is for finding another server.
   */
  #tend(session: Session, now: number): void {
    if (now < this.#tendAt(session)) return
    if (Number.isNaN(this.#heartbeatSentAt)) {
      this.#heartbeatSentAt = now
      this.#link?.write(heartbeatFrame[this.#options.heartbeat])
    } else {
      const silentMs = Math.round(now - this.#heartbeatSentAt)
      this.#link?.end(new StoreError(`${this.#link.server}: no answer to a heartbeat for ${silentMs} ms`))
    }
  }

  /** When the link needs a heartbeat, or has left one unanswered for too long. */
  #tendAt(session: Session): number {
    const since = Number.isNaN(this.#heartbeatSentAt) ? session.lastAnsweredSentAt : this.#heartbeatSentAt
    return since + session.negotiatedMs / 3
  }

  #setDue(): void {
    let due = this.#calls.soonest
    const session = this.#session
    if (session !== null) {
      due = Math.min(due, session.deadline)
      if (this.#established) due = Math.min(due, this.#tendAt(session))
    }
    if (due < Number.POSITIVE_INFINITY) this.#due.set(due)
  }

  #expire(cause: Error): void {
    this.#finish('expired', 'SessionExpired', cause)
    if (this.#options.renew) this.renew()
  }

  /** The session is over: everything under way fails, and all watches are gone with it. */
  #finish(state: 'expired' | 'authFailed', kind: UnansweredKind, cause: Error): void {
    this.#dropLink()
    this.#due.clear()
    this.#session = null
    // A server refuses a client that has seen a later transaction than the server has. A damaged answer, or servers
    // that lost their data, leave a number from the future here, which would keep this client out for ever.
    this.#lastZxid = 0n
    // Take the calls before telling anybody: what a listener asks for from here on belongs to the next session.
    const calls = [...this.#calls.takeSent(), ...this.#calls.takeUnsent()]
    const told = this.#watches.loseAll()
    this.#due.keepAlive(this.#options.ref)
    this.states.become(state, cause)
    this.#fail(calls, (call) => unanswered(kind, call.request, call.sent, cause.message, cause))
    for (const [callback, event] of told) tell(callback, event)
  }

  #fail(calls: readonly Call[], error: (call: Call) => Error): void {
    for (const call of calls) call.reject(error(call))
    if (this.#calls.waiting === 0) this.#due.keepAlive(this.#options.ref)
  }
}
