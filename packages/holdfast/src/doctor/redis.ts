/** Redis: one server, the servers that Sentinels watch, or a cluster. */
import { Connection } from '../clients/redis/connection.ts'
import { parseRedisUrl } from '../clients/redis/url.ts'
import type { StoreUrl } from '../store-url.ts'
import { resolveSettings } from '../stores/redis/options.ts'
import { makeTopology, parseTopology, type Topology } from '../stores/redis/topology.ts'
import type { Chart } from './finding.ts'
import {
  type Ask,
  checkEviction,
  checkPersistence,
  checkReplicas,
  checkRole,
  checkVersion,
  isForbidden,
  readInfo,
  timeOf,
} from './redis-server.ts'
import { checkRoundTrips } from './round-trips.ts'

export async function checkRedis(chart: Chart, url: StoreUrl): Promise<void> {
  const waits = Number(url.settings['replicas'] ?? 0) > 0
  const address = `${url.scheme}:${url.rest}`
  const topology = parseTopology(address)
  if (topology !== null) {
    await checkTopology(chart, topology, url, waits)
    return
  }
  const connection = new Connection({ ...parseRedisUrl(address), offline: 'fail' })
  const ask: Ask = (args) => connection.command(args)
  try {
    await checkRoundTrips(chart, 'redis', () => timeOf(ask))
    await checkServer(chart, new URL(address).host, ask, waits)
  } finally {
    await connection.close()
  }
}

async function checkServer(chart: Chart, where: string, ask: Ask, waits: boolean): Promise<void> {
  let info
  try {
    info = readInfo(await ask(['INFO']))
  } catch (error) {
    if (!isForbidden(error)) throw error
    chart.unknown('redis.info', `${where}: this user may not run INFO`, 'allow +info, and ask again')
    return
  }
  checkVersion(chart, where, info)
  if (!checkRole(chart, where, info)) return
  checkEviction(chart, where, info)
  await checkPersistence(chart, where, info, ask)
  checkReplicas(chart, where, info, waits)
}

async function checkTopology(chart: Chart, topology: Topology, url: StoreUrl, waits: boolean): Promise<void> {
  const { sentinelUsername, sentinelPassword } = url.settings
  const settings = resolveSettings({
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
  })
  const transport = await makeTopology(topology, settings)
  try {
    await transport.open()
    // Asks all primaries at once, and judges their answers one by one.
    await checkRoundTrips(chart, 'redis', async () => {
      const times = (await transport.askAll(['TIME'])) as [unknown, unknown][]
      return Number(times[0]?.[0]) * 1e3 + Number(times[0]?.[1]) / 1e3
    })
    const infos = await transport.askAll(['INFO'])
    for (const [i, text] of infos.entries()) {
      const ask: Ask = async (args) => (await transport.askAll(args))[i]
      const where = infos.length === 1 ? transport.where : `primary ${i + 1} of ${transport.where}`
      const info = readInfo(text)
      checkVersion(chart, where, info)
      checkEviction(chart, where, info)
      await checkPersistence(chart, where, info, ask)
      checkReplicas(chart, where, info, waits)
    }
    if (topology.kind === 'cluster')
      await checkCoverage(chart, (args) => transport.askAll(args).then(([first]) => first))
  } finally {
    await transport.close()
  }
  if (topology.kind === 'sentinel') await checkSentinels(chart, topology, url)
}

async function checkCoverage(chart: Chart, ask: Ask): Promise<void> {
  const info = readInfo(await ask(['CLUSTER', 'INFO']))
  const found = `the cluster is ${info.get('cluster_state')}, ${info.get('cluster_slots_ok')} of 16384 slots are served`
  if (info.get('cluster_state') === 'ok' && info.get('cluster_slots_ok') === '16384') {
    chart.ok('redis.coverage', found)
    return
  }
  chart.danger(
    'redis.coverage',
    found,
    'locks whose slot no server has can be neither taken nor released',
    'redis-cli --cluster fix',
  )
}

async function checkSentinels(chart: Chart, { hosts, master, tls }: Topology, url: StoreUrl): Promise<void> {
  const { sentinelUsername: username, sentinelPassword: password } = url.settings
  let answered = 0
  for (const { host, port } of hosts) {
    const login = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
    const connection = new Connection({ host, port, tls, ...login, offline: 'fail' })
    try {
      const reply = (await connection.command(['SENTINEL', 'MASTER', master])) as unknown
      const of = fields(reply)
      answered++
      if (answered === 1) checkQuorum(chart, Number(of.get('num-other-sentinels')) + 1, Number(of.get('quorum')))
    } catch (error) {
      const why = `a Sentinel that does not answer does not vote: ${String(error)}`
      chart.warning(
        'redis.sentinel',
        `Sentinel ${host}:${port} gives no answer`,
        why,
        'start it, or take it out of the URL',
      )
    } finally {
      await connection.close()
    }
  }
}

/** A list of pairs or a map, depending on the protocol of the connection. */
function fields(reply: unknown): Map<string, string> {
  if (reply instanceof Map) return new Map([...reply].map(([key, value]) => [String(key), String(value)]))
  const flat = Array.isArray(reply) ? reply : Object.entries(reply as object).flat()
  return new Map(
    flat.flatMap((key, i): [string, string][] => (i % 2 === 0 ? [[String(key), String(flat[i + 1])]] : [])),
  )
}

function checkQuorum(chart: Chart, sentinels: number, quorum: number): void {
  const found = `${sentinels} Sentinels, of which ${quorum} must agree that the primary is down`
  const majority = Math.floor(sentinels / 2) + 1
  if (Number.isNaN(sentinels + quorum)) {
    chart.unknown(
      'redis.sentinel',
      'the Sentinel says neither quorum nor how many others there are',
      'ask SENTINEL MASTER',
    )
    return
  }
  if (sentinels < 3) {
    chart.warning(
      'redis.sentinel',
      found,
      'with fewer than three no failover survives the loss of one',
      'run three or five Sentinels',
    )
  } else if (quorum < majority) {
    chart.warning(
      'redis.sentinel',
      found,
      'a minority that is cut off can call for a failover of a primary that lives',
      `set quorum to ${majority}`,
    )
  } else {
    chart.ok('redis.sentinel', found)
  }
}
