/** Redlock: are these really several servers that fail one by one? */
import { Connection } from '../clients/redis/connection.ts'
import type { StoreUrl } from '../store-url.ts'
import { type Deployment, readDeployment } from '../stores/redlock/deployment.ts'
import { parseRedlockUrl } from '../stores/redlock/options.ts'
import { type Chart, saidBy } from './finding.ts'
import { type Ask, checkEviction, checkVersion, type Info, readInfo, timeOf } from './redis-server.ts'
import { checkRoundTrips } from './round-trips.ts'

interface Seen {
  readonly where: string
  readonly host: string
  readonly info: Info
  /** What the server knows of the deployment that it belongs to; null: it belongs to none yet. */
  readonly deployment: Deployment | null
}

/** The length of the time that stands before the deployment in the marker. */
const TIME_LENGTH = 13

const TTL_MS = 30_000

export async function checkRedlock(chart: Chart, url: StoreUrl): Promise<void> {
  const servers = parseRedlockUrl(`redlock:${url.rest}`)
  const prefix = url.options.prefix ?? 'holdfast'
  const seen: Seen[] = []
  for (const options of servers) {
    const { host = '127.0.0.1', port = 6_379 } = options
    const where = `${host}:${port}`
    const connection = new Connection({ ...options, offline: 'fail' })
    const ask: Ask = (args) => connection.command(args)
    try {
      if (seen.length === 0) await checkRoundTrips(chart, 'redlock', () => timeOf(ask))
      const info = readInfo(await ask(['INFO']))
      seen.push({ where, host, info, deployment: await deploymentOf(ask, prefix) })
    } catch (error) {
      const why = `a majority of ${servers.length} must answer, and this one does not: ${saidBy(error)}`
      chart.warning(
        'redlock.server',
        `${where} gives no answer`,
        why,
        'start it, or replace it: holdfast redlock resize',
      )
    } finally {
      await connection.close()
    }
  }
  for (const { where, info } of seen) {
    checkVersion(chart, where, info)
    checkEviction(chart, where, info)
  }
  checkIndependence(chart, seen)
  checkNumber(chart, servers.length)
  checkMarkers(chart, seen)
  checkLease(chart, seen, url.options.ttlMs ?? TTL_MS)
}

async function deploymentOf(ask: Ask, prefix: string): Promise<Deployment | null> {
  const text = await ask(['GET', `${prefix}:redlock:servers`])
  return typeof text === 'string' ? readDeployment(text.slice(TIME_LENGTH)) : null
}

function checkLease(chart: Chart, seen: readonly Seen[], ttlMs: number): void {
  const { maxTtlMs = ttlMs } = seen.find(({ deployment }) => deployment !== null)?.deployment ?? {}
  if (maxTtlMs >= ttlMs) return
  chart.ttlMs = maxTtlMs
  const found = `the longest lease of this deployment is ${maxTtlMs} ms`
  const why = `a lock that asks for ${ttlMs} ms, as this URL does, is refused`
  chart.warning('redlock.lease', found, why, `add ?ttlMs=${maxTtlMs} to the URL, or give each lock a ttlMs`)
}

const VOTES = 'if several servers of the list are one server, their votes fail together, and the majority with them'

function checkIndependence(chart: Chart, seen: readonly Seen[]): void {
  let isSound = true
  for (const { where, info } of seen) {
    if (info.get('role') !== 'slave') continue
    isSound = false
    const primary = `${info.get('master_host')}:${info.get('master_port')}`
    chart.danger(
      'redlock.replica',
      `${where} is a replica of ${primary}`,
      `${VOTES}; a replica takes none at all`,
      'use servers without replication',
    )
  }
  const runs = new Map<string, string[]>()
  for (const { where, info } of seen) {
    const run = info.get('run_id') ?? where
    runs.set(run, [...(runs.get(run) ?? []), where])
  }
  for (const same of runs.values()) {
    if (same.length === 1) continue
    isSound = false
    chart.danger('redlock.same', `${same.join(' and ')} are one server`, VOTES, 'name each server once')
  }
  if (isSound && seen.length > 1) chart.ok('redlock.replica', 'each is a server of its own, and none is a replica')
  const hosts = new Set(seen.map(({ host }) => host))
  if (seen.length > 1 && hosts.size < seen.length) {
    const found = `${seen.length} servers run on ${hosts.size === 1 ? 'one host' : `${hosts.size} hosts`}`
    const why = 'servers on one host fail together: the majority is only as safe as that host'
    chart.warning('redlock.hosts', found, why, 'run each on a machine of its own')
  }
}

function checkNumber(chart: Chart, count: number): void {
  const found = count === 1 ? 'one server, alone' : `${count} servers, of which ${Math.floor(count / 2) + 1} must agree`
  if (count === 1) {
    chart.warning('redlock.number', found, 'its loss stops all locks', 'use three or five')
  } else if (count === 2) {
    chart.warning('redlock.number', found, 'the loss of either stops all locks', 'use three or five')
  } else if (count % 2 === 0) {
    chart.note(
      'redlock.number',
      found,
      `an even number survives no more losses than ${count - 1} would`,
      `use ${count - 1} or ${count + 1}`,
    )
  } else {
    chart.ok('redlock.number', found)
  }
}

function checkMarkers(chart: Chart, seen: readonly Seen[]): void {
  const ids = new Set(seen.map(({ deployment }) => deployment?.id ?? null))
  if (ids.size === 1 && !ids.has(null)) {
    chart.ok('redlock.marker', 'all belong to one deployment')
  } else if (ids.size === 1) {
    chart.note(
      'redlock.marker',
      'none has been used before',
      'the first locks wait for one longest lease',
      'holdfast redlock init',
    )
  } else {
    const found = seen.map(({ where, deployment }) => `${where}: ${deployment?.id ?? 'none'}`).join(', ')
    const why = 'servers of different deployments have no majority in common: some clients may use other servers'
    chart.danger(
      'redlock.marker',
      `not one deployment (${found})`,
      why,
      'give every client one list; then holdfast redlock resize',
    )
  }
}
