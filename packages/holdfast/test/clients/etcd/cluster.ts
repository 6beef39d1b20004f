/** What these tests ask of etcd's members: who leads, who serves, and etcdctl. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { EtcdClient, type StatusResponse } from '../../../src/clients/etcd/index.ts'
import type { EtcdOptions } from '../../../../holdfast-lab/src/testbed/etcd.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

interface Found {
  readonly found: Server
  readonly others: readonly Server[]
}

export class Cluster {
  readonly members: readonly Server[]
  readonly #bed: Testbed

  private constructor(members: readonly Server[], bed: Testbed) {
    this.members = members
    this.#bed = bed
  }

  /** Members of a testbed; one of their own unless it is given. */
  static async open(count = 1, options: EtcdOptions = {}, given?: Testbed): Promise<Cluster> {
    await requireServers(['etcd'])
    const bed = given ?? (await testbed())
    const own = { heartbeatMs: 50, electionMs: 500, ...options, flags: ['--unsafe-no-fsync', ...(options.flags ?? [])] }
    return new Cluster((await bed.etcd(count, own)).servers, bed)
  }

  get endpoints(): string[] {
    return this.members.map(endpointOf)
  }

  get first(): Server {
    return this.members[0] as Server
  }

  /** The member that leads, and the rest. */
  leader(): Promise<Found> {
    return this.#find((status) => status.leader !== 0n && status.leader === status.header.memberId)
  }

  /** The member that this client is connected to, and the rest: under load it need not be the first of its list. */
  async serving(client: EtcdClient): Promise<Found> {
    const { header } = await client.status()
    return this.#find((status) => status.header.memberId === header.memberId)
  }

  async #find(matches: (status: StatusResponse) => boolean): Promise<Found> {
    for (;;) {
      for (const found of this.members) {
        const client = new EtcdClient({ endpoints: [endpointOf(found)], timeoutMs: 20_000 })
        const status = await client.status()
        await client.close()
        if (matches(status)) return { found, others: this.members.filter((other) => other !== found) }
      }
    }
  }

  close(): Promise<void> {
    return this.#bed.close()
  }
}

export function endpointOf({ port, url }: Server): string {
  return `${url.startsWith('etcds:') ? 'https' : 'http'}://127.0.0.1:${port}`
}

/** Stops a member, and waits until it stands still. */
export async function freeze(member: Server): Promise<void> {
  member.pause()
  await member.stoodStill()
}

/** Runs etcdctl: for what our client has no calls for. */
export async function etcdctl(endpoint: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: '3' }
  return (await promisify(execFile)('etcdctl', ['--endpoints', endpoint, ...args], { env })).stdout
}
