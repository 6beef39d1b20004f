/** A process with a client: an idle one does not keep it alive, a request under way does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Rig } from '../../stores/zookeeper/rig.ts'

let ensemble: Rig

beforeAll(async () => {
  ensemble = await Rig.open(1, { tickMs: 500 })
})
afterAll(async () => {
  await ensemble?.[Symbol.asyncDispose]()
})

const CLIENT = fileURLToPath(new URL('../../../src/clients/zookeeper/index.ts', import.meta.url))

/** Runs a module in a process of its own; resolves once it has ended by itself. */
async function run(body: string): Promise<{ code: number | null; output: string }> {
  const source = `
    const { ZooKeeperClient } = await import(${JSON.stringify(CLIENT)})
    const servers = ${JSON.stringify(ensemble.addresses)}
    ${body}`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += String(chunk)
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return { code, output }
}

test('a connected but idle client lets the process end', async () => {
  const { code, output } = await run(`
    const client = new ZooKeeperClient({ servers })
    await client.connect()
    process.stdout.write(await client.create('/exit-', undefined, { mode: 'ephemeralSequential' }))
  `)
  expect([code, output]).toEqual([0, '/exit-0000000000'])
})

test('a client that has lost its server lets the process end, too', async () => {
  const { code, output } = await run(`
    const client = new ZooKeeperClient({ servers: ['127.0.0.1:1'] })
    await client.create('/a', undefined, { timeoutMs: 200 }).catch((error) => process.stdout.write(error.kind))
  `)
  expect([code, output]).toEqual([0, 'OperationTimeout'])
})

test('a client with ref keeps the process alive until it is closed', async () => {
  const { code, output } = await run(`
    const client = new ZooKeeperClient({ servers, sessionTimeoutMs: 1_000, ref: true })
    await client.connect()
    const timer = setTimeout(async () => { await client.close(); process.stdout.write('closed') }, 500)
    timer.unref()
  `)
  expect([code, output]).toEqual([0, 'closed'])
})
