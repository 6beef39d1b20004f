/** One Redis server, by its own words: the checks that Redis, Sentinel, Cluster and Redlock share. */
import type { Argument } from '../clients/redis/encode.ts'
import type { Chart } from './finding.ts'

/** Asks one server; rejects with the error that it answers. */
export type Ask = (args: readonly Argument[]) => Promise<unknown>

export type Info = ReadonlyMap<string, string>

export function readInfo(text: unknown): Info {
  const lines = String(text).split('\r\n')
  return new Map(
    lines.flatMap((line): [string, string][] => {
      const colon = line.indexOf(':')
      return colon > 0 && !line.startsWith('#') ? [[line.slice(0, colon), line.slice(colon + 1)]] : []
    }),
  )
}

/** For each release line: the first release without the use-after-free in Lua scripts (CVE-2025-49844). */
const SOUND_LUA: readonly (readonly [number, number, number])[] = [
  [6, 2, 20],
  [7, 2, 11],
  [7, 4, 6],
  [8, 0, 4],
  [8, 2, 2],
]

export function checkVersion(chart: Chart, where: string, info: Info): void {
  const version = info.get('redis_version') ?? ''
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  if (major < 6 || (major === 6 && minor < 2)) {
    const why = 'Holdfast refuses it: its scripts need commands that are missing'
    chart.danger('redis.version', `${where} has version ${version}`, why, 'use Redis 6.2 or newer')
    return
  }
  const sound = SOUND_LUA.find(([a, b]) => a === major && b === minor)
  const isSound = sound === undefined ? major > 8 || (major === 8 && minor > 2) : patch >= sound[2]
  if (isSound) {
    chart.ok('redis.version', `${where} has version ${version}`)
    return
  }
  const why = 'a user who may run scripts may take over the server (CVE-2025-49844), unless your distribution fixed it'
  chart.note(
    'redis.version',
    `${where} has version ${version}`,
    why,
    'use 6.2.20, 7.2.11, 7.4.6, 8.0.4, 8.2.2 or newer',
  )
}

export function checkEviction(chart: Chart, where: string, info: Info): void {
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  const max = info.get('maxmemory') ?? '0'
  if (max === '0' || policy === 'noeviction') {
    const limit = max === '0' ? 'has no maxmemory' : `refuses writes when its ${max} bytes are full`
    chart.ok('redis.eviction', `${where} ${limit}, and evicts nothing`)
    return
  }
  const why = 'a lock is a key: when memory is full Redis may evict a held lock, and then two hold it'
  const todo = 'set maxmemory-policy noeviction, or give locks a server of their own'
  chart.danger('redis.eviction', `${where} evicts keys (maxmemory-policy ${policy}, maxmemory ${max})`, why, todo)
}

const FORGETS = 'a restart forgets all locks that are held: their holders go on, and others get the same locks'

export async function checkPersistence(chart: Chart, where: string, info: Info, ask: Ask): Promise<void> {
  if (info.get('aof_enabled') === '1') {
    await checkFsync(chart, where, ask)
    return
  }
  const save = await setting(ask, 'save')
  if (save === null) {
    chart.unknown('redis.persistence', `${where}: this user may not run CONFIG GET`, 'allow +config|get, and ask again')
  } else if (save === '') {
    chart.warning(
      'redis.persistence',
      `${where} keeps nothing (no AOF, no snapshots)`,
      FORGETS,
      'appendonly yes, appendfsync always',
    )
  } else {
    const found = `${where} keeps snapshots only (save ${save})`
    chart.warning(
      'redis.persistence',
      found,
      `${FORGETS}, if they were taken since the last snapshot`,
      'appendonly yes, appendfsync always',
    )
  }
}

async function checkFsync(chart: Chart, where: string, ask: Ask): Promise<void> {
  const fsync = await setting(ask, 'appendfsync')
  if (fsync === 'always') chart.ok('redis.persistence', `${where} writes each lock to disk before it answers`)
  else if (fsync === null) {
    chart.unknown('redis.fsync', `${where}: this user may not run CONFIG GET`, 'allow +config|get, and ask again')
  } else {
    const lost = fsync === 'no' ? 'half minute' : 'second'
    const why = `after a loss of power the last ${lost} of locks is forgotten`
    chart.note(
      'redis.fsync',
      `${where} has an AOF with appendfsync ${fsync}`,
      why,
      'appendfsync always, if power may fail',
    )
  }
}

/** null: this user may not ask. */
export async function setting(ask: Ask, name: string): Promise<string | null> {
  try {
    const reply = await ask(['CONFIG', 'GET', name])
    if (Array.isArray(reply)) return String(reply[1] ?? '')
    return reply instanceof Map ? String(reply.get(name) ?? '') : ((reply as Record<string, string>)[name] ?? '')
  } catch (error) {
    if (isForbidden(error)) return null
    throw error
  }
}

export function isForbidden(error: unknown): boolean {
  return error instanceof Error && /NOPERM|unknown command/i.test(error.message)
}

export function checkReplicas(chart: Chart, where: string, info: Info, waits: boolean): void {
  const count = Number(info.get('connected_slaves') ?? 0)
  if (count === 0) {
    chart.ok('redis.replicas', `${where} has no replicas: nothing can be promoted that lacks a lock`)
    return
  }
  const offset = Number(info.get('master_repl_offset') ?? 0)
  const replicas = [...info].filter(([key]) => /^slave\d+$/.test(key)).map(([, text]) => text)
  const behind = replicas.map((text) => offset - Number(/offset=(\d+)/.exec(text)?.[1] ?? 0))
  const found = `${where} has ${count} replicas, up to ${Math.max(0, ...behind)} bytes behind`
  if (waits) {
    chart.note(
      'redis.replicas',
      `${found}; locks wait for replicas`,
      'WAIT narrows the gap of a failover, and does not close it',
      'fence what the lock protects',
    )
    return
  }
  const why = 'Redis answers before its replicas know: a failover forgets the newest locks, and two may hold at once'
  chart.warning(
    'redis.replicas',
    `${found}; locks do not wait for them`,
    why,
    'add ?replicas=1 to the URL, and fence what the lock protects',
  )
}

/** False: it is a replica, so no other check of it matters. */
export function checkRole(chart: Chart, where: string, info: Info): boolean {
  if (info.get('role') !== 'slave') return true
  const primary = `${info.get('master_host')}:${info.get('master_port')}`
  const why = 'a replica takes no locks, and what is read there may be old'
  chart.danger('redis.role', `${where} is a replica of ${primary}`, why, 'give the primary, or redis+sentinel://')
  return false
}

/** The server's clock in ms. */
export async function timeOf(ask: Ask): Promise<number> {
  const [seconds, micros] = (await ask(['TIME'])) as [unknown, unknown]
  return Number(seconds) * 1e3 + Number(micros) / 1e3
}
