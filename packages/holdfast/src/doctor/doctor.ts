/** Examines a store: which promises hold on this server as it is configured? */
import { parseStoreUrl, type StoreUrl } from '../store-url.ts'
import { STORES } from '../stores/registry.ts'
import { bySeverity, Chart, type Finding, saidBy } from './finding.ts'
import { checkLock } from './probe.ts'

/** The worst findings first. Rejects if the store can't be reached. */
export async function examine(store: string): Promise<Finding[]> {
  const url = parseStoreUrl(store, STORES)
  const chart = new Chart()
  try {
    await checkStore(chart, url)
  } catch (error) {
    // If the store can't be reached, the lock check below says so. Otherwise this user lacks a right that the check
    // needs.
    chart.unknown('store', saidBy(error), 'give the user these rights, and ask again')
  }
  // The first use of the servers of a Redlock URL would make one deployment of them, right or wrong. So don't use them.
  const isFirst = url.scheme === 'redlock' && !isOneDeployment(chart)
  if (!isFirst) await checkLock(chart, store)
  return bySeverity(chart.findings)
}

function isOneDeployment({ findings }: Chart): boolean {
  const isSound = findings.some(({ check, severity }) => check === 'redlock.marker' && severity === 'ok')
  return isSound && !findings.some(({ severity }) => severity === 'danger')
}

/** Each loads what it needs only when it is used. */
async function checkStore(chart: Chart, url: StoreUrl): Promise<void> {
  const { scheme } = url
  if (scheme === 'redlock') return (await import('./redlock.ts')).checkRedlock(chart, url)
  if (scheme.startsWith('redis')) return (await import('./redis.ts')).checkRedis(chart, url)
  if (scheme.startsWith('etcd')) return (await import('./etcd.ts')).checkEtcd(chart, url)
  if (scheme.startsWith('zookeeper')) return (await import('./zookeeper.ts')).checkZookeeper(chart, url)
  if (scheme.startsWith('postgres')) return (await import('./postgres.ts')).checkPostgres(chart, url)
  if (scheme.startsWith('mysql')) return (await import('./mysql.ts')).checkMysql(chart, url)
  if (scheme === 'sqlite') return (await import('./sqlite.ts')).checkSqlite(chart, url)
  chart.note(
    'memory.scope',
    'locks of memory: belong to one process',
    'other processes do not see these locks',
    'use another store',
  )
}
