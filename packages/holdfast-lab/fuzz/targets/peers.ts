/**
 * Servers that lie: a client behind an attacker without TLS gets typed errors in time, never anything else, and works
 * again as soon as the attacker has gone.
 */
import { HoldfastError } from '../../../holdfast/src/contract/errors.ts'
import type { Holdfast } from '../../../holdfast/src/holdfast.ts'
import { holdfast } from '../../../holdfast/src/open.ts'
import { type Testbed, testbed } from '../../src/testbed/testbed.ts'
import { Gate } from '../gate.ts'
import { Fault, type Target } from '../target.ts'

/** Generous: a client waits for its own time-outs first. */
const RECOVERY_MS = 25_000
const TTL_MS = 2_000

interface Peer {
  readonly name: string
  readonly says: string
  readonly seeds: readonly string[]
  readonly words: readonly string[]
  start(bed: Testbed): Promise<number>
  url(port: number): string
}

/** What a user does, each of it on its own: one that fails must not hide another. */
function deeds(hf: Holdfast): (() => Promise<unknown>)[] {
  return [
    () => hf.mutex('fuzz').using(() => 'held', { waitMs: 300 }),
    async () => {
      const held = await hf.rwLock('fuzz-rw').read.tryAcquire()
      await held?.release()
    },
    () => hf.cell('fuzz-cell').read(),
    async () => {
      for await (const line of hf.list()) if (line.name === '') throw new Fault('a lock without a name is listed')
    },
    () => hf.limiter('fuzz-limit', { limit: 100, perMs: 1_000 }).take('k'),
    () => hf.health({ timeoutMs: 300 }),
  ]
}

async function attempted(deed: () => Promise<unknown>): Promise<void> {
  try {
    await deed()
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
  }
}

async function recovers(hf: Holdfast): Promise<void> {
  const until = performance.now() + RECOVERY_MS
  let last: unknown
  while (performance.now() < until) {
    try {
      await hf.mutex('fuzz-after').using(() => 'held', { waitMs: 2_000 })
      return
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error
      last = error
    }
  }
  throw new Fault(`the client does not recover: ${String(last)}`)
}

function peerTarget(peer: Peer): Target {
  let bed: Testbed
  let gate: Gate
  let hf: Holdfast
  return {
    name: peer.name,
    says: peer.says,
    slow: true,
    seeds: peer.seeds.map((text) => Buffer.from(text, 'latin1')),
    words: peer.words,
    async open() {
      bed = await testbed()
      gate = await Gate.open(await peer.start(bed))
      hf = await holdfast(peer.url(gate.port), { ttlMs: TTL_MS })
    },
    async run(input) {
      gate.attack(input)
      await Promise.all(deeds(hf).map(attempted))
      gate.heal()
      await recovers(hf)
    },
    async close() {
      await hf.close()
      await gate.close()
      await bed.close()
    },
  }
}

/** One change of the server's bytes: at `at`, of this kind. */
function edit(at: number, kind: number, value: number): string {
  return String.fromCharCode(at >> 8, at & 255, kind, value >> 8, value & 255)
}

const EDITS = [`\x01${edit(0, 0, 33)}`, `\x01${edit(60, 1, 3)}${edit(90, 2, 4)}`, `\x01${edit(20, 3, 0x4105)}`]

export const redisPeer: Target = peerTarget({
  name: 'redis-peer',
  says: 'a Redis server that lies',
  seeds: [
    '\x10HTTP/1.1 400 Bad Request\r\n\r\n',
    '\x00%0\r\n*3\r\n:1\r\n:1\r\n$1\r\nx\r\n',
    '\x18-ERR no\r\n',
    ...EDITS,
  ],
  words: [
    '\r\n',
    '*1\r\n',
    '$-1\r\n',
    ':1\r\n',
    '+OK\r\n',
    '%0\r\n',
    '-LOADING x\r\n',
    '-NOSCRIPT x\r\n',
    '-MOVED 1 h:1\r\n',
    '_\r\n',
  ],
  start: async (bed) => (await bed.redis()).port,
  url: (port) => `redis://127.0.0.1:${port}?commandTimeoutMs=300&connectTimeoutMs=300`,
})

export const zookeeperPeer: Target = peerTarget({
  name: 'zookeeper-peer',
  says: 'a ZooKeeper server that lies',
  seeds: ['\x10imok', '\x00\x00\x00\x00\x25\x00\x00\x00\x00\x00\x00\x0f\xa0', ...EDITS],
  words: ['\x00\x00\x00\x00', '\xff\xff\xff\xff', '\x00\x00\x00\x10', '\xff\xff\xff\x90', '\xff\xff\xff\x9b'],
  start: async (bed) => (await bed.zookeeper()).servers[0]?.port ?? 0,
  url: (port) => `zookeeper://127.0.0.1:${port}?connectTimeoutMs=500`,
})

export const etcdPeer: Target = peerTarget({
  name: 'etcd-peer',
  says: 'an etcd member that lies',
  seeds: [
    '\x10HTTP/1.1 200 OK\r\n\r\n',
    '\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x04\x01\x00\x00\x00\x00',
    ...EDITS,
  ],
  words: [
    '\x00\x00\x08\x06\x00',
    '\x00\x00\x08\x07\x00',
    '\x00\x00\x04\x03\x00\x00\x00\x00\x01',
    '\x88',
    '\x00\x00\x00\x00\x05',
  ],
  start: async (bed) => (await bed.etcd()).servers[0]?.port ?? 0,
  url: (port) => `etcd://127.0.0.1:${port}?connectTimeoutMs=300`,
})
