/** Three etcd members. */
import { request } from 'node:http'
import { revokesLate } from 'holdfast/internal'
import type { Testbed } from '../../testbed/testbed.ts'
import type { Backend } from './backend.ts'
import { QUORUM_COUNT, quorumBackend } from './quorum.ts'
import { versionOf } from './versions.ts'

const CLOCKLESS = 'etcd is a Go program: its clock can not be moved from outside, and it goes by the monotonic one'

export async function etcdBackend(bed: Testbed): Promise<Backend> {
  const version = await versionOf('etcd')
  return quorumBackend({
    scheme: 'etcd',
    version,
    group: await bed.etcd(QUORUM_COUNT),
    leads,
    revokesLate: revokesLate(version.replace(/^etcd /, '')),
    spoilt: 'a member that comes back empty is another member, and must be added by an administrator',
    suffers: {
      kind: 'etcd',
      program: 'etcd',
      spared: { 'slow-disk': 'etcd is a Go program: it calls the kernel by itself, past every library' },
    },
    deeds: {},
    lacks: {
      'clock-forward': CLOCKLESS,
      'clock-back': CLOCKLESS,
      'clock-hour': CLOCKLESS,
      flush: 'there is no such command; a range of keys can be deleted, which conformance does by `break`',
      'terminate-session': 'a lease can be revoked by its number only',
    },
  })
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
