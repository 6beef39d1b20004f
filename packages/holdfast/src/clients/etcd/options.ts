/** The client's options: checked once, before any I/O, then frozen. */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import { UsageError } from '../../contract/errors.ts'

/** What TLS needs; `servername` if the certificate names another host than the endpoint. */
export type EtcdTls = Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase'> & {
  readonly servername?: string
  /** False accepts any certificate: for experiments only. Default true. */
  readonly rejectUnauthorized?: boolean
}

export interface EtcdClientOptions {
  /** `http://host:2379` or `https://host:2379`, at least one; the port defaults to 2379. */
  readonly endpoints: readonly string[]
  /** With `password`, if the cluster has authentication enabled. */
  readonly user?: string
  readonly password?: string
  /** For https endpoints. */
  readonly tls?: EtcdTls
  /** How long each call may take until it is answered or rejected. Default 5 000, 1 to 86 400 000. */
  readonly timeoutMs?: number
  /** How long connecting to one endpoint may take. Default 2 000, 1 to 86 400 000. */
  readonly connectTimeoutMs?: number
  /** After so long without a sign of life, while calls or streams are open, the member is probed. Default 2 000. */
  readonly probeIntervalMs?: number
  /** How long the member may take to answer a probe before the connection counts as lost. Default 2 000. */
  readonly probeWaitMs?: number
  /** The longest first pause between rounds of connecting; it doubles each round. Default 50. */
  readonly backoffMinMs?: number
  /** The longest pause at all. Default 2 000. */
  readonly backoffMaxMs?: number
  /** From 0 to below 1: which endpoint is first, and jitter. Default `Math.random`. */
  readonly random?: () => number
}

/** The address of one member. */
export interface Endpoint {
  /** As `http://host:port`, never with credentials. */
  readonly origin: string
  readonly secure: boolean
}

/** What a secure session is opened with. */
export interface SecureOptions {
  readonly secureContext?: SecureContext
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

export interface ResolvedOptions {
  readonly endpoints: readonly Endpoint[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly secure: SecureOptions
  readonly timeoutMs: number
  readonly connectTimeoutMs: number
  readonly probeIntervalMs: number
  readonly probeWaitMs: number
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
  readonly random: () => number
}

const DAY_MS = 86_400_000
const ENDPOINT = /^(https?):\/\/(\[[0-9a-f:.]+\]|[^\s:/@?#[\]]+)(?::(\d{1,5}))?\/?$/i

function resolveEndpoint(text: string, place: number): Endpoint {
  const match = typeof text === 'string' ? ENDPOINT.exec(text) : null
  const port = match?.[3] === undefined ? 2379 : Number(match[3])
  if (match === null || port < 1 || port > 65_535) {
    // Do not repeat the text: it may contain a password.
    throw new UsageError(`etcd endpoint ${place + 1}: expected http://host:port or https://host:port, nothing else`)
  }
  const scheme = String(match[1]).toLowerCase()
  return Object.freeze({ origin: `${scheme}://${match[2]}:${port}`, secure: scheme === 'https' })
}

function resolveTls(tls: EtcdTls): SecureOptions {
  const { servername, rejectUnauthorized = true, ...material } = tls
  try {
    const secureContext = createSecureContext(material)
    return { secureContext, rejectUnauthorized, ...(servername === undefined ? {} : { servername }) }
  } catch (error) {
    throw new UsageError('etcd client: tls has a certificate or key that cannot be read', { cause: error })
  }
}

/** `value`, or `fallback` if none was given; anything but a number of milliseconds up to a day is a `UsageError`. */
export function resolveMs(name: string, value: number | undefined, fallback: number): number {
  const ms = value ?? fallback
  if (typeof ms === 'number' && ms >= 1 && ms <= DAY_MS) return ms
  throw new UsageError(`etcd client: ${name} is ${String(value)}, expected 1 to ${DAY_MS}`)
}

export function resolveOptions(given: EtcdClientOptions): ResolvedOptions {
  const { endpoints, user, password } = given
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw new UsageError('etcd client: endpoints must be a list of at least one address')
  }
  if ((user === undefined) !== (password === undefined)) {
    throw new UsageError('etcd client: user and password must be given together')
  }
  if (user === '') throw new UsageError('etcd client: user is empty')
  return Object.freeze({
    endpoints: Object.freeze((endpoints as readonly string[]).map(resolveEndpoint)),
    user,
    password,
    secure: given.tls === undefined ? {} : resolveTls(given.tls),
    timeoutMs: resolveMs('timeoutMs', given.timeoutMs, 5_000),
    connectTimeoutMs: resolveMs('connectTimeoutMs', given.connectTimeoutMs, 2_000),
    probeIntervalMs: resolveMs('probeIntervalMs', given.probeIntervalMs, 2_000),
    probeWaitMs: resolveMs('probeWaitMs', given.probeWaitMs, 2_000),
    backoffMinMs: resolveMs('backoffMinMs', given.backoffMinMs, 50),
    backoffMaxMs: resolveMs('backoffMaxMs', given.backoffMaxMs, 2_000),
    random: given.random ?? Math.random,
  })
}
