/** The interop layout against its real counterpart: Apache Curator's InterProcessMutex, run by a few lines of Java. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { UnsupportedError, UsageError } from '../../../src/core/errors.ts'
import type { Holdfast } from '../../../src/holdfast.ts'
import { installPackages } from '../../../src/testbed/install.ts'
import { aborted, Rig, until } from './rig.ts'

const PACKAGES = ['libcurator-recipes-java', 'default-jdk-headless']
const JARS = [
  ...['curator-recipes', 'curator-framework', 'curator-client', 'zookeeper', 'zookeeper-jute', 'guava'],
  // Exactly one binding of slf4j, the silent one: what the peer says is its answers only.
  ...['slf4j-api', 'slf4j-nop'],
].map((name) => `/usr/share/java/${name}.jar`)

let rig: Rig
/** Where the peer is compiled to, once for all tests. */
let classes = ''

beforeAll(async () => {
  if (!JARS.every((jar) => existsSync(jar))) {
    if (process.env['HOLDFAST_TEST_INSTALL'] !== '1') throw new Error(`not installed: ${PACKAGES.join(' ')}`)
    await installPackages(PACKAGES)
  }
  classes = mkdtempSync(join(tmpdir(), 'hf-curator-'))
  const source = fileURLToPath(new URL('CuratorPeer.java', import.meta.url))
  execFileSync('javac', ['-J-XX:TieredStopAtLevel=1', '-cp', JARS.join(':'), '-d', classes, source], { stdio: 'pipe' })
  rig = await Rig.open(1, { tickMs: 500 })
})

const peers: CuratorPeer[] = []

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.kill()))
  await rig.clear()
})

afterAll(async () => {
  await rig?.[Symbol.asyncDispose]()
  if (classes !== '') rmSync(classes, { recursive: true, force: true })
})

class CuratorPeer {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: Interface

  constructor(path: string, sessionMs: number) {
    const java = ['-Xmx64m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', [classes, ...JARS].join(':')]
    this.#child = spawn('java', [...java, 'CuratorPeer', rig.addresses.join(','), path, String(sessionMs)])
    this.#lines = createInterface({ input: this.#child.stdout })
    peers.push(this)
  }

  async says(): Promise<string> {
    const [line] = (await once(this.#lines, 'line')) as [string]
    return line
  }

  ask(word: 'acquire' | 'try' | 'release'): Promise<string> {
    const answer = this.says()
    this.#child.stdin.write(`${word}\n`)
    return answer
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}

async function both(path: string, sessionMs = 10_000): Promise<{ hf: Holdfast; peer: CuratorPeer }> {
  const peer = new CuratorPeer(path, sessionMs)
  expect(await peer.says()).toBe('ready')
  return { hf: await rig.holdfast({ layout: 'curator' }), peer }
}

async function inLine(path: string): Promise<number> {
  return (await rig.client().getChildren(path)).children.length
}

test('each keeps the other out, and is woken when the other leaves', async () => {
  const path = '/locks/stock'
  const { hf, peer } = await both(path)
  const mutex = hf.mutex(path)
  const first = await mutex.acquire()
  expect(await peer.ask('try')).toBe('busy')
  const theirs = peer.ask('acquire')
  await until('Curator stands in line', async () => ((await inLine(path)) === 2 ? true : null))
  await first.release()
  expect(await theirs).toBe('acquired')
  expect(await mutex.tryAcquire()).toBeNull()
  const ours = mutex.acquire()
  await until('we stand in line', async () => ((await inLine(path)) === 2 ? true : null))
  expect(await peer.ask('release')).toBe('released')
  const second = await ours
  expect(second.token).toBeGreaterThan(first.token)
  await second.release()
})

test('first come, first served across both; a dead Curator client frees its place', async () => {
  const path = '/locks/order'
  const { hf, peer } = await both(path, 2_000)
  expect(await peer.ask('acquire')).toBe('acquired')
  const waiting = hf.mutex(path).acquire()
  await until('we stand in line', async () => ((await inLine(path)) === 2 ? true : null))
  await peer.kill()
  const held = await waiting
  for await (const line of hf.list({ prefix: path })) expect(line.holders).toHaveLength(1)
  const token = held.token
  expect(await hf.break(path, { now: true })).toBe(1)
  await aborted(held.signal)
  const next = await hf.mutex(path).acquire()
  expect(next.token).toBeGreaterThan(token)
  await next.release()
})

test("break is Curator's revocation, both ways", async () => {
  const path = '/locks/revoke'
  const { hf, peer } = await both(path)
  expect(await peer.ask('acquire')).toBe('acquired')
  const asked = peer.says()
  expect(await hf.break(path)).toBe(1)
  expect(await asked).toBe('asked to release')
  expect(await peer.ask('release')).toBe('released')
  const held = await hf.mutex(path).acquire()
  const hand = rig.client()
  const [node = ''] = (await hand.getChildren(path)).children
  await hand.setData(`${path}/${node}`, Buffer.from('__REVOKE__'))
  await aborted(held.signal)
})

test('what an InterProcessMutex can not do is refused', async () => {
  const hf = await rig.holdfast({ layout: 'curator' })
  await expect(hf.semaphore('/locks/s', 3).acquire()).rejects.toBeInstanceOf(UnsupportedError)
  await expect(hf.rwLock('/locks/rw').read.acquire()).rejects.toBeInstanceOf(UnsupportedError)
  await expect(hf.mutex('no-path').acquire()).rejects.toBeInstanceOf(UsageError)
  await expect(hf.mutex('/a//b').acquire()).rejects.toBeInstanceOf(UsageError)
})
