/** Reports soon that no server listens where a store should be, because a driver goes on trying for seconds. */
import { StoreUnreachableError } from '../contract/errors.ts'

/** If the store has answered by then, no address is tried. */
const PATIENCE_MS = 300
/**
 * How long an address may take to refuse. An address that does not answer is left to the driver, which waits longer.
 */
const ANSWER_MS = 500

const PORTS: Readonly<Record<string, number>> = {
  redis: 6379,
  'redis+cluster': 6379,
  'redis+sentinel': 26379,
  redlock: 6379,
  etcd: 2379,
  zookeeper: 2181,
  postgres: 5432,
  postgresql: 5432,
  mysql: 3306,
}

interface Address {
  readonly host: string
  readonly port: number
}

/** The servers that a URL names; none for a store without a server, or a store that is reached in another way. */
export function addressesOf(store: string): Address[] {
  const match = /^([a-z+]+):\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(store)
  const scheme = (match?.[1] ?? '').toLowerCase()
  // `rediss`, `etcds`: the same over TLS.
  const port = PORTS[scheme] ?? PORTS[scheme.replace(/s(?=\+|$)/, '')]
  if (port === undefined) return []
  const hosts = (match?.[2] ?? '').split(',').map((text) => /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(text))
  return hosts.flatMap((host) =>
    host === null ? [] : [{ host: (host[1] as string).replace(/[[\]]/g, ''), port: Number(host[2] ?? port) }],
  )
}

/** Does the work, unless it takes a while and every server of the store refuses a connection. */
export async function orRefused<T>(store: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const addresses = addressesOf(store)
  const stop = new AbortController()
  const done = work(stop.signal)
  if (addresses.length === 0) return done
  let timer: NodeJS.Timeout | undefined
  const refused = new Promise<never>((_, reject) => {
    const ask = async (): Promise<void> => {
      const why = await refusals(addresses)
      if (why === null) return
      const error = new StoreUnreachableError(`the store can't be reached: ${why}`)
      reject(error)
      stop.abort(error)
    }
    timer = setTimeout(() => void ask(), PATIENCE_MS)
  })
  try {
    return await Promise.race([done, refused])
  } catch (error) {
    // The work ends later, and its outcome interests nobody any more.
    done.catch(ignore)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

function ignore(): void {}

/** Why none of the servers can be reached; null: at least one may be reachable. */
async function refusals(addresses: readonly Address[]): Promise<string | null> {
  const { connect } = await import('node:net')
  const answers = await Promise.all(
    addresses.map(
      ({ host, port }) =>
        new Promise<string | null>((resolve) => {
          const socket = connect({ host, port, timeout: ANSWER_MS })
          const end = (why: string | null): void => {
            socket.destroy()
            resolve(why)
          }
          socket.once('connect', () => end(null))
          socket.once('timeout', () => end(null))
          socket.once('error', (error) => end(reason(error, host, port)))
        }),
    ),
  )
  return answers.includes(null) ? null : answers.join('; ')
}

/** If a name has several addresses, the error is one for all of them, without a message. */
function reason(error: Error, host: string, port: number): string {
  return error.message === '' ? `connect ${(error as NodeJS.ErrnoException).code} ${host}:${port}` : error.message
}
