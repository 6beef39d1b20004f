/** What these tests share: servers, instances and a raw client, all closed when the test or the file ends. */
import { onTestFinished } from 'vitest'
import type { HoldfastOptions } from '../../../src/contract/options.ts'
import { EtcdClient } from '../../../src/clients/etcd/index.ts'
import type { Held } from '../../../src/hold/held.ts'
import type { LineView } from '../../../src/contract/driver.ts'
import type { Holdfast } from '../../../src/holdfast.ts'
import { holdfast } from '../../../src/open.ts'
import { requireServers, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** For beforeAll: starts one member, tells its URL, and stops it when the file ends. */
export function oneMember(tell: (url: string) => void): () => Promise<(() => Promise<void>) | undefined> {
  return async () => {
    if (skipped('etcd')) return undefined
    await requireServers(['etcd'])
    const bed = await testbed()
    tell((await bed.etcd(1)).url)
    return () => bed.close()
  }
}

export async function open(url: string, options: HoldfastOptions = {}): Promise<Holdfast> {
  const hf = await holdfast(url, options)
  onTestFinished(() => hf.close())
  return hf
}

export function rawClient(url: string, timeoutMs = 5_000): EtcdClient {
  const endpoints = url
    .replace(/^etcd:\/\/(.*@)?/, '')
    .split(',')
    .map((host) => `http://${host}`)
  const client = new EtcdClient({ endpoints, timeoutMs })
  onTestFinished(() => client.close())
  return client
}

export async function lineOf(hf: Holdfast, name: string): Promise<LineView> {
  for await (const line of hf.list({ prefix: name })) if (line.name === name) return line
  return { name, capacity: 0, holders: [], waiters: [] }
}

/** The hold's loss: the reason its signal aborts with. */
export function lossOf(held: Held): Promise<unknown> {
  return new Promise((resolve) => {
    const { signal } = held
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}

/** The member that leads, and the rest. */
export async function leaderOf(servers: readonly Server[]): Promise<{ leader: Server; others: readonly Server[] }> {
  for (;;) {
    for (const leader of servers) {
      const client = new EtcdClient({ endpoints: [`http://127.0.0.1:${leader.port}`], timeoutMs: 20_000 })
      const status = await client.status()
      await client.close()
      if (status.leader !== 0n && status.leader === status.header.memberId) {
        return { leader, others: servers.filter((other) => other !== leader) }
      }
    }
  }
}

/** Counts who is inside, and keeps the tokens in the order in which they were seen. */
export class Room {
  inside = 0
  most = 0
  readonly tokens: bigint[] = []

  async visit(token: bigint): Promise<void> {
    this.most = Math.max(this.most, ++this.inside)
    this.tokens.push(token)
    await new Promise((resolve) => setImmediate(resolve))
    this.inside--
  }

  get tokensRise(): boolean {
    return this.tokens.every((token, i) => i === 0 || token > (this.tokens[i - 1] as bigint))
  }
}
