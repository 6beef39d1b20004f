/** One HTTP/2 session to one member: it carries calls, and notices when the other side has fallen silent. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import { Deadline } from '../../stores/shared/deadline.ts'
import { Call, type RequestHeaders, requestHeaders } from './call.ts'
import { EtcdUnreachableError } from './errors.ts'
import { frame } from './frame.ts'
import { HealthCheckRequest } from './messages/server.ts'
import type { Endpoint, ResolvedOptions } from './options.ts'
import { Status } from './status.ts'

const WINDOW = 4 * 1024 * 1024
// HTTP/2 numbers streams up to 2^31, odd ones only: at 5 000 calls/s a session is used up within 60 hours.
const STREAMS_MAX = 2 ** 29
const HEALTH_PATH = '/grpc.health.v1.Health/Check'
const HEALTH_CHECK = frame(HealthCheckRequest, {})

export class Connection {
  readonly endpoint: Endpoint
  /** Fulfilled when the member's own SETTINGS have come: a stopped process still accepts TCP, but sends none. */
  readonly ready: Promise<void>
  readonly #session: ClientHttp2Session
  readonly #options: ResolvedOptions
  readonly #retiring = new AbortController()
  #usable = false
  #loss: Error | undefined
  #lastStreamId = Number.POSITIVE_INFINITY
  #open = 0
  #opened = 0
  #heardAtMs = 0
  #probeTimer: NodeJS.Timeout | undefined
  #silence: Deadline | undefined

  constructor(endpoint: Endpoint, options: ResolvedOptions) {
    this.endpoint = endpoint
    this.#options = options
    this.#session = connect(endpoint.origin, {
      settings: { enablePush: false, initialWindowSize: WINDOW },
      maxSessionMemory: 1000,
      ...(endpoint.secure ? options.secure : {}),
    })
    // Pending calls keep the process alive by their deadline timers; the socket alone never does.
    this.#session.unref()
    this.#session.on('error', (error) => {
      this.#loss ??= error
    })
    this.#session.on('goaway', (_code, lastStreamId) => {
      this.#usable = false
      this.#lastStreamId = lastStreamId
    })
    this.#session.on('close', () => {
      this.#usable = false
      clearTimeout(this.#probeTimer)
      this.#silence?.clear()
    })
    this.ready = this.#becomeReady()
  }

  /** Whether new calls may be opened. */
  get usable(): boolean {
    // A session that was destroyed is not "closed" until its last event.
    return this.#usable && !this.#session.closed && !this.#session.destroyed
  }

  /** The session is gone, with everything on it. */
  get ended(): boolean {
    return this.#session.destroyed
  }

  /** Why the session ended, as far as known. */
  get loss(): Error | undefined {
    return this.#loss
  }

  /** Aborts when nothing new may use the connection: long-lived calls then move to another one. */
  get retired(): AbortSignal {
    return this.#retiring.signal
  }

  /** The member has said that it won't look at this stream. */
  ignores(streamId: number): boolean {
    return streamId > this.#lastStreamId
  }

  /** Opens a stream. Its user calls `heard` on every sign of life, and `release` when the stream has closed. */
  open(headers: RequestHeaders): ClientHttp2Stream {
    try {
      const stream = this.#session.request(headers)
      if (this.#open++ === 0) this.heard()
      if (++this.#opened === STREAMS_MAX) this.retire()
      return stream
    } catch (error) {
      // request() throws only if the session is closing: nothing has been sent.
      this.#usable = false
      throw this.#unreachable('the connection is closing', this.#loss ?? error)
    }
  }

  heard(): void {
    this.#heardAtMs = performance.now()
  }

  release(): void {
    this.#open--
    if (this.#retiring.signal.aborted && this.#open === 0) this.#session.close()
  }

  /** Nothing new may use the connection. Open streams may finish, still guarded against silence. */
  retire(): void {
    this.#usable = false
    this.#retiring.abort()
    if (this.#open === 0) this.#session.close()
  }

  /** Ends the session and every call on it. */
  destroy(reason: Error): void {
    this.#usable = false
    this.#loss ??= reason
    this.#session.destroy()
  }

  #becomeReady(): Promise<void> {
    const { connectTimeoutMs } = this.#options
    return new Promise((resolve, reject) => {
      const deadline = new Deadline(() => this.destroy(this.#unreachable(`no answer in ${connectTimeoutMs} ms`)))
      deadline.set(performance.now() + connectTimeoutMs)
      this.#session.once('remoteSettings', () => {
        deadline.clear()
        this.#session.setLocalWindowSize(WINDOW)
        this.#usable = true
        this.#watchSilence(this.#options.probeIntervalMs)
        resolve()
      })
      this.#session.once('close', () => {
        deadline.clear()
        reject(this.#unreachable('cannot connect', this.#loss))
      })
    })
  }

  #watchSilence(delayMs: number): void {
    this.#probeTimer = setTimeout(() => {
      const { probeIntervalMs } = this.#options
      const quietMs = this.#open === 0 ? 0 : performance.now() - this.#heardAtMs
      // Destroyed, but not closed yet: a probe would throw.
      if (this.#session.destroyed) return
      if (quietMs >= probeIntervalMs) this.#probe()
      else this.#watchSilence(probeIntervalMs - quietMs)
    }, delayMs)
    this.#probeTimer.unref()
  }

  /**
   * Probes with gRPC's health request. An HTTP/2 PING would do as well, but etcd allows one only every 5 s
   * (`--grpc-keepalive-min-time`) unless it has sent something meanwhile: on a quiet watch, etcd answers pings every 2
   * s with GOAWAY "too_many_pings" after 8 s. A call is traffic like any other, and any answer to it will do.
   */
  #probe(): void {
    const askedAtMs = performance.now()
    const { probeIntervalMs, probeWaitMs } = this.#options
    const onEnd = (): void => {
      silence.clear()
      clearTimeout(this.#probeTimer)
      if (!this.#session.destroyed) this.#watchSilence(probeIntervalMs)
    }
    const silence = new Deadline(() => {
      if (this.#session.destroyed) return
      if (this.#heardAtMs >= askedAtMs) return this.#watchSilence(probeIntervalMs)
      this.destroy(this.#unreachable(`silent for ${Math.round(performance.now() - this.#heardAtMs)} ms`))
    })
    silence.set(askedAtMs + probeWaitMs)
    this.#silence = silence
    // After GOAWAY no call can be opened any more, and a few pings do no harm.
    if (this.#session.closed) this.#session.ping(onEnd)
    else new Call(this, requestHeaders(HEALTH_PATH), { onMessage: () => {}, onEnd }).sendLast(HEALTH_CHECK)
  }

  #unreachable(text: string, cause?: unknown): EtcdUnreachableError {
    const reason = cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : ''
    return new EtcdUnreachableError(`etcd ${this.endpoint.origin}: ${text}${reason}`, {
      status: Status.UNAVAILABLE,
      mayHaveApplied: false,
      cause,
    })
  }
}
