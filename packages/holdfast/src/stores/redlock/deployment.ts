/**
 * Which servers vote together: kept by each of them, numbered by epochs, and changed in steps that keep two from
 * holding.
 */

/** One of the servers. */
export interface ServerOf {
  /** The beginning of its run id when it was taken in: who lost its data and restarted is another server. */
  readonly id: string
  /** Where whoever took it in reached it; for people, and to know again a server that forgot who it is. */
  readonly where: string
  /** It was taken in for one that had lost its data: it gives no votes for one longest lease. */
  readonly isQuiet: boolean
}

export interface Deployment {
  readonly id: string
  /** Rises with each change of the servers. 0: being founded, and nobody votes yet. */
  readonly epoch: number
  /** The longest lease. */
  readonly maxTtlMs: number
  readonly servers: readonly ServerOf[]
  /** The ids of the servers before the latest change. */
  readonly before: readonly string[]
}

const ID_LENGTH = 16
export const SERVERS_MAX = 15

export function majorityOf(count: number): number {
  return Math.floor(count / 2) + 1
}

/** What a server taken in during this run of it is called. */
export function serverIdOf(run: string): string {
  return run.slice(0, ID_LENGTH)
}

/** What the marker of a server says behind the run; for a server that is none of them any more, without its id. */
export function partOf({ id, epoch, servers }: Deployment, server: string): string {
  return `.${id}.${epoch}.${servers.some((one) => one.id === server) ? server : '-'}`
}

export function serverInPart(part: string): string {
  return part.slice(part.lastIndexOf('.') + 1)
}

/** Whether both are the same deployment with the same servers. */
export function isSame(one: Deployment | null, other: Deployment | null): boolean {
  return one?.id === other?.id && one?.epoch === other?.epoch
}

export function listed({ servers }: Deployment): string {
  return servers.map(({ where }) => where).join(',')
}

export function founded(id: string, maxTtlMs: number, servers: readonly Pick<ServerOf, 'id' | 'where'>[]): Deployment {
  return { id, epoch: 0, maxTtlMs, servers: servers.map((one) => ({ ...one, isQuiet: false })), before: [] }
}

/** All of its servers know of each other: from now on they vote. */
export function confirmed(founding: Deployment): Deployment {
  return { ...founding, epoch: 1 }
}

/**
 * One server more. A majority of n and one of n + 1 always share a server: three of four, and two of the three before,
 * can't both be had. So it need not wait until a majority knows of the change.
 */
export function added(now: Deployment, { id, where }: Pick<ServerOf, 'id' | 'where'>): Deployment {
  return changed(now, [...now.servers.map(voting), { id, where, isQuiet: false }])
}

/** One server less: as with one more, majorities of both share a server. */
export function removed(now: Deployment, id: string): Deployment {
  return changed(now, now.servers.filter((one) => one.id !== id).map(voting))
}

/**
 * Others in the place of servers that lost their data. {a, b, c} and {a, b, d}: (a, c) and (b, d) share no server. So d
 * gives no votes for one longest lease, from when a majority knows of the change: until then only a and b can be
 * counted, and later nobody holds by c any more.
 */
export function replaced(now: Deployment, by: ReadonlyMap<string, Pick<ServerOf, 'id' | 'where'>>): Deployment {
  return changed(
    now,
    now.servers.map((one) => {
      const other = by.get(one.id)
      return other === undefined ? voting(one) : { id: other.id, where: other.where, isQuiet: true }
    }),
  )
}

function voting({ id, where }: ServerOf): ServerOf {
  return { id, where, isQuiet: false }
}

function changed(now: Deployment, servers: readonly ServerOf[]): Deployment {
  return { ...now, epoch: now.epoch + 1, servers, before: now.servers.map(({ id }) => id) }
}

/** As it is kept on each server. */
export function writeDeployment({ id, epoch, maxTtlMs, servers, before }: Deployment): string {
  const lines = servers.map(({ id: server, where, isQuiet }) => [server, isQuiet ? 1 : 0, where])
  return JSON.stringify([id, epoch, maxTtlMs, lines, before])
}

/** null: it is none of ours. */
export function readDeployment(text: string): Deployment | null {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
  if (!Array.isArray(read)) return null
  const [id, epoch, maxTtlMs, lines, before] = read as unknown[]
  if (!isName(id) || !isCount(epoch) || !isCount(maxTtlMs) || maxTtlMs === 0) return null
  if (!Array.isArray(lines) || lines.length < 2 || lines.length > SERVERS_MAX || !Array.isArray(before)) return null
  const servers = lines.map((line: unknown) => (Array.isArray(line) ? readServer(line) : null))
  if (servers.includes(null) || !before.every(isName)) return null
  return { id, epoch, maxTtlMs, servers: servers as ServerOf[], before }
}

function readServer([id, isQuiet, where]: readonly unknown[]): ServerOf | null {
  return isName(id) && typeof where === 'string' ? { id, where, isQuiet: isQuiet === 1 } : null
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && /^\w{1,64}$/.test(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
