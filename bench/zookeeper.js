/**
 * What the general scenarios can't show of ZooKeeper. `node bench/zookeeper.js HOST:PORT [client | pairs | handover |
 * crowd]…`, on a server that nobody else uses, after `npm run build`.
 */
import { connect } from 'node:net'
import { holdfast } from '../packages/holdfast/build/src/index.js'
import { ZooKeeperClient } from '../packages/holdfast/build/src/clients/zookeeper/index.js'
import { answer, openClient } from './adapters/zk-recipe.js'
import { quantile } from './stats.js'

const [address = '127.0.0.1:2181', ...named] = process.argv.slice(2)
const own = process.pid
const data = Buffer.alloc(64)

/** @param {readonly number[]} values */
function spread(values) {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((part) => quantile(values, part).toFixed(3))
  return `${middle} (${low}–${high})`
}

/** A number that the server counts itself. @param {RegExp} names @returns {Promise<number>} */
function counted(names) {
  return new Promise((resolve, reject) => {
    const [host, port] = address.split(':')
    let text = ''
    const socket = connect(Number(port), host, () => socket.write('mntr'))
    socket.on('data', (bytes) => (text += bytes.toString()))
    socket.on('error', reject)
    socket.on('close', () => {
      const lines = text.split('\n').map((line) => line.split('\t'))
      resolve(lines.reduce((sum, [name = '', value]) => sum + (names.test(name) ? Number(value) : 0), 0))
    })
  })
}

/**
 * Creates, then deletes, one at a time, through our client and through node-zookeeper-client: in one process and in
 * short turns, so that both see the same weather.
 */
async function client() {
  const [ROUNDS, CALLS] = [40, 200]
  const ours = new ZooKeeperClient({ servers: [address], sessionTimeoutMs: 30_000 })
  await ours.create(`/client-${own}`)
  const { client: theirs, mode } = await openClient(`zookeeper://${address}`, 30_000)
  const path = `/client-${own}/p-`
  /** @type {Record<string, { create(): Promise<string>, remove(path: string): Promise<unknown> }>} */
  const peers = {
    ours: {
      create: () => ours.create(path, data, { mode: 'ephemeralSequential' }),
      remove: (node) => ours.delete(node),
    },
    theirs: {
      create: async () => String(await answer((done) => theirs.create(path, data, mode, done))),
      remove: (node) => answer((done) => theirs.remove(node, done)),
    },
  }
  /** @type {Record<string, number[]>} */
  const ratios = { create: [], delete: [], createCpu: [] }
  for (let round = -20; round < ROUNDS; round++) {
    /** @type {Record<string, { create: number, delete: number, createCpu: number }>} */
    const took = {}
    for (const who of round % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours']) {
      const peer = /** @type {(typeof peers)[string]} */ (peers[who])
      const nodes = []
      const [started, cpu] = [performance.now(), process.cpuUsage()]
      for (let i = 0; i < CALLS; i++) nodes.push(await peer.create())
      const [made, used] = [performance.now(), process.cpuUsage(cpu)]
      for (const node of nodes) await peer.remove(node)
      took[who] = {
        create: made - started,
        delete: performance.now() - made,
        createCpu: used.user + used.system,
      }
    }
    // The first rounds only warm up.
    if (round < 0) continue
    for (const [what, list] of Object.entries(ratios)) {
      const key = /** @type {'create'} */ (what)
      list.push((took.theirs?.[key] ?? 0) / (took.ours?.[key] ?? 1))
    }
  }
  await ours.close()
  theirs.close()
  console.log(`client, one at a time, ${ROUNDS} rounds of ${CALLS} in turns; rate of node-zookeeper-client's = 1`)
  console.log(`  creates ${spread(ratios.create ?? [])}  deletes ${spread(ratios.delete ?? [])}`)
  console.log(`  creates for the same CPU ${spread(ratios.createCpu ?? [])}`)
}

/**
 * Pairs of acquire and release, each task on a key of its own, and create + delete through a client of the same kind,
 * in turns.
 */
async function pairs() {
  const ROUNDS = 30
  const hf = await holdfast(`zookeeper://${address}`, { ttlMs: 30_000 })
  const raw = new ZooKeeperClient({ servers: [address], sessionTimeoutMs: 30_000 })
  await raw.create(`/pairs-${own}`)
  for (const tasks of [1, 16]) {
    const each = tasks === 1 ? 150 : 60
    const keys = Array.from({ length: tasks }, (_, i) => i)
    await Promise.all(keys.map((i) => raw.create(`/pairs-${own}/${tasks}-${i}`)))
    /** @param {(i: number) => Promise<unknown>} pair */
    const run = async (pair) => {
      const [started, cpu] = [performance.now(), process.cpuUsage()]
      await Promise.all(
        keys.map(async (i) => {
          for (let n = 0; n < each; n++) await pair(i)
        }),
      )
      const { user, system } = process.cpuUsage(cpu)
      return { tookMs: performance.now() - started, cpuUs: (user + system) / (each * tasks) }
    }
    const mutexes = keys.map((i) => hf.mutex(`pairs-${own}-${tasks}-${i}`))
    const ours = () => run(async (i) => (await mutexes[i]?.acquire())?.release())
    const theirs = () =>
      run(async (i) => {
        const node = await raw.create(`/pairs-${own}/${tasks}-${i}/p-`, data, { mode: 'ephemeralSequential' })
        await raw.delete(node)
      })
    /** @type {[number[], number[], number[]]} */
    const [ratios, cpuOurs, cpuRaw] = [[], [], []]
    for (let round = -20; round < ROUNDS; round++) {
      const first = round % 2 === 0 ? await ours() : await theirs()
      const second = round % 2 === 0 ? await theirs() : await ours()
      const [mine, bare] = round % 2 === 0 ? [first, second] : [second, first]
      if (round < 0) continue
      ratios.push(bare.tookMs / mine.tookMs)
      cpuOurs.push(mine.cpuUs)
      cpuRaw.push(bare.cpuUs)
    }
    console.log(
      `pairs, c=${tasks}, ${ROUNDS} rounds of ${each * tasks} in turns: ${spread(ratios)} of raw create + ` +
        `delete; client CPU ${spread(cpuOurs)} against ${spread(cpuRaw)} µs`,
    )
  }
  await Promise.all([hf.close(), raw.close()])
}

/**
 * The floor of a hand-over: A deletes its node, B's watch fires, B asks one question and deletes its own node,
 * and so on. No client can pass a lock on with less: the delete must be committed, the event told, and the own node
 * seen.
 */
async function handover() {
  const [ROUNDS, CALLS] = [5, 200]
  // With ref: to wait for an event alone does not keep a process alive.
  const clients = [0, 1].map(() => new ZooKeeperClient({ servers: [address], sessionTimeoutMs: 30_000, ref: true }))
  const [a, b] = /** @type {[ZooKeeperClient, ZooKeeperClient]} */ (clients)
  await a.create(`/handover-${own}`)
  /** @type {[number[], number[]]} */
  const [events, questions] = [[], []]
  for (let round = -2; round < ROUNDS; round++) {
    for (let i = 0; i < CALLS; i++) {
      const [from, to] = i % 2 === 0 ? [a, b] : [b, a]
      const node = await from.create(`/handover-${own}/p-`, data, { mode: 'ephemeralSequential' })
      const told = new Promise((resolve) => void to.getData(node, { watch: () => resolve(performance.now()) }))
      await to.exists(node)
      const started = performance.now()
      const left = from.delete(node)
      const toldAt = Number(await told)
      await to.exists(`/handover-${own}`)
      const seenAt = performance.now()
      await left
      if (round < 0) continue
      events.push(toldAt - started)
      questions.push(seenAt - toldAt)
    }
  }
  await Promise.all(clients.map((client) => client.close()))
  console.log(`floor of a hand-over, ms: delete to event ${spread(events)}  one question ${spread(questions)}`)
}

/** So many waiters of four sessions, each once: what the server counts for each hand-over. */
async function crowd() {
  for (const waiters of [100, 1_000]) {
    const open = () => holdfast(`zookeeper://${address}`, { fairness: 'strict', ttlMs: 30_000 })
    const instances = /** @type {const} */ ([await open(), await open(), await open(), await open()])
    const [first] = instances
    const name = `crowd-${own}-${waiters}`
    const held = await first.mutex(name).acquire()
    /** @type {bigint[]} */
    const tokens = []
    const waits = Array.from({ length: waiters / instances.length }, () =>
      instances.map((hf) => hf.mutex(name).using(({ token }) => void tokens.push(token))),
    ).flat()
    for (;;) {
      let standing = 0
      for await (const line of first.list({ prefix: name })) standing += line.waiters.length
      if (standing === waiters) break
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const [watches, packets] = [/^zk_sum_node_\w+_watch_count$/, /^zk_packets_received$/]
    const before = [await counted(watches), await counted(packets)]
    const started = performance.now()
    await held.release()
    await Promise.all(waits)
    const tookMs = performance.now() - started
    const after = [await counted(watches), await counted(packets)]
    const [notifications = 0, requests = 0] = after.map((count, i) => (count - (before[i] ?? 0)) / waiters)
    const inOrder = tokens.every((token, i) => i === 0 || token > (tokens[i - 1] ?? 0n))
    console.log(
      `${waiters} waiters, each once: ${notifications.toFixed(3)} notifications and ${requests.toFixed(2)} ` +
        `requests for a hand-over, ${((waiters / tookMs) * 1_000).toFixed(0)} a second, ` +
        (inOrder ? 'in order' : 'OUT OF ORDER'),
    )
    await Promise.all(instances.map((hf) => hf.close()))
  }
}

const WHAT = { client, pairs, handover, crowd }
for (const what of named.length === 0 ? Object.keys(WHAT) : named) await WHAT[/** @type {'client'} */ (what)]()
