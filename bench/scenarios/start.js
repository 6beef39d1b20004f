/** How long a start takes: of `holdfast run -- true` beside Node alone, and from the import to the first lock. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { quantile } from '../stats.js'

/** As it is shipped. */
const DIST = new URL('../../packages/holdfast/dist/', import.meta.url)
const CLI = fileURLToPath(new URL('cli.cjs', DIST))
const FIRST_LOCK = `
const began = performance.now()
const { holdfast } = await import(process.argv[1])
const hf = await holdfast(process.argv[2])
const held = await hf.mutex('bench:start').acquire()
console.log(performance.now() - began)
await held.release()
await hf.close()`

const SAMPLES = 5

/**
 * One process of Node, to its end.
 *
 * @param {readonly string[]} args
 */
async function run(args) {
  const began = performance.now()
  const child = spawn(process.execPath, [...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`)
  return { tookMs: performance.now() - began, out }
}

/** @param {() => Promise<number>} sample */
async function median(sample) {
  // Leave out the first run: it reads the files from disk, and may make the store's file.
  await sample()
  const times = []
  for (let i = 0; i < SAMPLES; i++) times.push(await sample())
  return quantile(times, 0.5)
}

/** @type {import('../scenario.ts').Scenario} */
export const start = {
  name: 'start',
  title: 'Starts: `holdfast run -- true` against `node -e 0`, and from the import to the first lock',
  // No other process sees a store in memory.
  suits: (adapter, { store }) => store.scope !== 'process' && ['holdfast', 'node-alone'].includes(adapter.name),
  metrics: [{ key: 'ms', title: 'ms', better: 'less' }],
  async run(adapter, { store }) {
    if (adapter.name === 'node-alone') return { run: { ms: await median(async () => (await run(['-e', '0'])).tookMs) } }
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
    const url = store.url.replace('{folder}', folder)
    const command = [CLI, 'run', 'bench:start', '--store', url, '--', 'true']
    const library = ['--input-type=module', '-e', FIRST_LOCK, new URL('index.js', DIST).href, url]
    try {
      return {
        run: { ms: await median(async () => (await run(command)).tookMs) },
        'first lock': { ms: await median(async () => Number((await run(library)).out)) },
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}
