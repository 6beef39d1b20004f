/** Free loopback ports, outside of the range from which the kernel picks the source ports of connections. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { isErrno } from './errno.ts'
import { TestbedError } from './error.ts'

const LOWEST = 15_000
const TRIES = 200
const given = new Set<number>()

/**
 * A loopback port that nobody listens on; never the same port twice from one process.
 *
 * Not the usual listen-on-0, because such a port lies in the ephemeral range. Schedule: a server is killed; a client
 * that reconnects in a loop gets the server's own port as its source port and is connected *to itself*; the restarted
 * server then finds its port taken.
 */
export async function freePort(): Promise<number> {
  const end = ephemeralLow()
  for (let tried = 0; tried < TRIES; tried++) {
    const port = LOWEST + Math.floor(Math.random() * (end - LOWEST))
    if (given.has(port)) continue
    given.add(port)
    if (await canListen(port)) return port
  }
  throw new TestbedError(`no free port between ${LOWEST} and ${end} on 127.0.0.1 after ${TRIES} tries`)
}

/** `count` different free ports. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let i = 0; i < count; i++) ports.push(await freePort())
  return ports
}

/** Where the kernel's ephemeral range begins; Linux's default where it can't be read or leaves no room below it. */
function ephemeralLow(): number {
  const fallback = 32_768
  try {
    const low = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0])
    return low >= LOWEST + 1000 && low <= 65_536 ? low : fallback
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EACCES')) return fallback
    throw error
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error) => {
      if (isErrno(error, 'EADDRINUSE', 'EACCES')) resolve(false)
      else reject(error)
    })
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}
