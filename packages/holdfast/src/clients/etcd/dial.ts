/** One round of connecting: endpoints in turn, the next one early if one is slow, and the first to answer wins. */
import { Connection } from './connection.ts'
import type { Endpoint, ResolvedOptions } from './options.ts'

// A stopped or cut-off member accepts nothing and refuses nothing. Waiting for its whole time-out before trying the
// next would cost a 2 s lease its life.
const HEAD_START_MS = 250

/** Settles with the first connection that is ready; rejects with the last reason if no endpoint answers. */
export function dial(
  endpoints: readonly Endpoint[],
  options: ResolvedOptions,
  signal: AbortSignal,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const attempts = new Set<Connection>()
    let next = 0
    let ended = false
    let headStart: NodeJS.Timeout | undefined

    const tryNext = (): void => {
      clearTimeout(headStart)
      const endpoint = endpoints[next++]
      if (endpoint === undefined) return
      const connection = new Connection(endpoint, options)
      attempts.add(connection)
      headStart = setTimeout(tryNext, HEAD_START_MS)
      headStart.unref()
      connection.ready.then(
        () => win(connection),
        (error: Error) => lose(connection, error),
      )
    }

    const end = (): void => {
      ended = true
      clearTimeout(headStart)
      signal.removeEventListener('abort', abandon)
      for (const connection of attempts) connection.retire()
    }

    const win = (connection: Connection): void => {
      if (ended) return
      attempts.delete(connection)
      end()
      resolve(connection)
    }

    const lose = (connection: Connection, error: Error): void => {
      attempts.delete(connection)
      if (ended) return
      if (next < endpoints.length) return tryNext()
      if (attempts.size > 0) return
      end()
      reject(error)
    }

    const abandon = (): void => {
      end()
      reject(signal.reason as Error)
    }

    signal.addEventListener('abort', abandon)
    tryNext()
  })
}
