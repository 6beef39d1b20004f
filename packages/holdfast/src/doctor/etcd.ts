/** etcd: how many members, which version, how much room, and can leases be as short as asked for? */
import { EtcdClient } from '../clients/etcd/index.ts'
import type { StoreUrl } from '../store-url.ts'
import { resolveEtcd } from '../stores/etcd/options.ts'
import { revokesLate } from '../stores/etcd/server-check.ts'
import type { Chart } from './finding.ts'
import { checkRoundTrips } from './round-trips.ts'

/** etcd's quota if nobody set another; a cluster reports its quota only from 3.6 on. */
const QUOTA_BYTES = 2 * 1024 ** 3
const FULL = 0.8
const TTL_MS = 30_000

export async function checkEtcd(chart: Chart, url: StoreUrl): Promise<void> {
  const settings = new URLSearchParams(url.settings).toString()
  const client = new EtcdClient(resolveEtcd(`${url.scheme}:${url.rest}?${settings}`).client)
  try {
    await checkRoundTrips(chart, 'etcd', async () => {
      await client.range({ key: Buffer.from('holdfast/doctor') })
      return null
    })
    const [status, { members }] = await Promise.all([client.status(), client.members()])
    checkMembers(chart, members.length)
    checkVersion(chart, status.version, members.length)
    checkRoom(chart, status.dbSize, status.errors)
    checkElection(chart, (await client.lease.shortest()) * 1e3, url.options.ttlMs ?? TTL_MS)
  } finally {
    await client.close()
  }
}

function checkMembers(chart: Chart, count: number): void {
  const found = `${count} ${count === 1 ? 'member' : 'members'}`
  if (count === 1) {
    chart.warning(
      'etcd.members',
      found,
      'while it is down nobody can get a lock, and held locks are lost after their lease',
      'run three or five',
    )
  } else if (count % 2 === 0) {
    chart.note('etcd.members', found, 'an even number survives no more losses than one less', 'run three or five')
  } else {
    chart.ok('etcd.members', found)
  }
}

function checkVersion(chart: Chart, version: string, members: number): void {
  if (!revokesLate(version)) {
    chart.ok('etcd.version', `version ${version}`)
    return
  }
  const why =
    'a leader that stood still for longer than a lease ends, when it goes on, leases that were renewed ' +
    'meanwhile: two may ' +
    'hold a lock at once (etcd issue 15247)'
  const todo = 'use 3.4.31, 3.5.13 or newer'
  if (members > 1) chart.danger('etcd.version', `version ${version}`, why, todo)
  else chart.note('etcd.version', `version ${version}, alone`, `${why}; alone it has no next leader`, todo)
}

function checkRoom(chart: Chart, bytes: number, errors: readonly string[]): void {
  const megabytes = (bytes / 1024 ** 2).toFixed(0)
  const alarm = errors.find((error) => /NOSPACE/i.test(error))
  if (alarm !== undefined) {
    const why = 'etcd refuses writes: nobody can get or release a lock'
    chart.danger(
      'etcd.quota',
      `the quota is used up (${megabytes} MB)`,
      why,
      'compact, defragment, etcdctl alarm disarm',
    )
  } else if (bytes > QUOTA_BYTES * FULL) {
    const why = 'at its quota (2 GB unless you set another) etcd refuses writes, and nobody can get a lock'
    chart.warning('etcd.quota', `the database has ${megabytes} MB`, why, 'turn on auto compaction, and defragment')
  } else {
    chart.ok('etcd.quota', `the database has ${megabytes} MB, and no alarm`)
  }
}

/** The shortest lease is one and a half election time-outs. */
function checkElection(chart: Chart, shortestMs: number, ttlMs: number): void {
  const found = `the shortest lease is ${shortestMs / 1e3} s (one and a half election time-outs)`
  if (shortestMs > ttlMs) {
    const why = `this etcd can't do a ttlMs of ${ttlMs}: a dead holder keeps others waiting for ${shortestMs / 1e3} s`
    chart.warning('etcd.election', found, why, 'lower --election-timeout, or ask for a longer ttlMs')
  } else {
    chart.ok('etcd.election', found)
  }
}
