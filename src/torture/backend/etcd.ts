/** Three etcd members. */
import { request } from 'node:http'
import type { Server } from '../../testbed/server.ts'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { anyOf, killServer, pauseServer, type Pick } from './deeds.ts'
import { Gates } from './gates.ts'
import { versionOf } from './versions.ts'

const COUNT = 3

export async function etcdBackend(bed: Testbed): Promise<Backend> {
  const { servers, url } = await bed.etcd(COUNT)
  const gates = new Gates(servers, (addresses) => `etcd://${addresses}`)
  const clockless = 'etcd is a Go program: its clock can not be moved from outside, and it goes by the monotonic one'
  const shared = 'a member that comes back empty is another member, and must be added by an administrator'
  return {
    versions: `${await versionOf('etcd')} × ${COUNT}`,
    url,
    failoverMs: 8_000,
    ttlMs: 2_000,
    deeds: {
      'pause-server': pauseServer(anyOf(servers), { ms: 2_500 }),
      'kill-server': killServer(anyOf(servers), { downMs: 1_500 }),
      failover: killServer(leader(servers), { downMs: 2_500 }),
    },
    lacks: {
      'restart-empty': shared,
      'restart-truncated': shared,
      lag: 'a write is confirmed by a majority before it is answered',
      'clock-forward': clockless,
      'clock-back': clockless,
      flush: 'there is no such command; a range of keys can be deleted, which conformance does by `break`',
      'terminate-session': 'a lease can be revoked by its number only',
    },
    gate: () => gates.open(),
    close: () => gates.close(),
  }
}

/** The member that leads, or any if none of them says so. */
function leader(servers: readonly Server[]): Pick {
  return async (random) => {
    for (const server of servers) if (await leads(server.port)) return server
    return anyOf(servers)(random)
  }
}

/** A member that leads names itself as the leader. */
function leads(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const options = {
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: '/v3/maintenance/status',
      agent: false,
      timeout: 1_000,
    }
    const sent = request(options, (response) => {
      let said = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      response.on('error', () => resolve(false))
      response.on('end', () => {
        const status = /"member_id":"(\d+)"[\s\S]*"leader":"(\d+)"/.exec(said)
        resolve(status !== null && status[1] === status[2])
      })
    })
    // A member that does not answer does not lead.
    sent.on('error', () => resolve(false))
    sent.on('timeout', () => sent.destroy())
    sent.end('{}')
  })
}
