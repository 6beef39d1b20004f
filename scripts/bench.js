/**
 * `npm run bench`: builds the library, installs the peers when they are asked for and missing, starts servers when
 * asked to, and measures.
 */
import { existsSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { runSteps } from './run.js'

const COMMAND = 'packages/holdfast/dist/cli.cjs'

const args = process.argv.slice(2)
const isHelp = args.includes('--help')

/** @param {string} name */
function given(name) {
  const at = args.findIndex((arg) => arg === name || arg.startsWith(`${name}=`))
  if (at === -1) return ''
  return args[at]?.split('=')[1] ?? args[at + 1] ?? ''
}

const isOurs = given('--adapter')
  .split(',')
  .every((name) => name === '' || name.startsWith('holdfast') || name === 'promise-chain')
const needsPackages = args.includes('--peers') || !isOurs

if (!isHelp && !args.includes('--no-build')) await import('./build.js')
if (!isHelp && needsPackages && !existsSync('bench/node_modules/.package-lock.json')) {
  runSteps([['packages of the bench', 'npm', 'ci', '--prefix', 'bench']])
}

const names = isHelp || given('--testbed') === '' ? [] : given('--testbed').split(',')
const servers = names.length === 0 ? null : await start(names)
try {
  const stores = servers === null ? [] : ['--store', servers.urls.join(',')]
  const bench = spawn(process.execPath, ['bench/main.js', ...args, ...stores], { stdio: 'inherit' })
  const [code] = await once(bench, 'exit')
  process.exitCode = code ?? 70
} finally {
  servers?.stop()
}

/**
 * Servers of `npm run testbed`, which prints the URL of each when it is up. In a group of their own: npm passes no
 * signal on.
 * @param {readonly string[]} kinds
 */
async function start(kinds) {
  const options = /** @type {const} */ ({ stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const child = spawn('npm', ['run', '--silent', 'testbed', '--', ...kinds], options)
  const stop = () => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, 'SIGINT')
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, stop)
  /** @type {string[]} */
  const urls = []
  for await (const line of createInterface({ input: child.stdout })) {
    const url = line.trim()
    urls.push(url)
    if (url.startsWith('redlock:'))
      runSteps([['first start of redlock', 'node', COMMAND, 'redlock', 'init', '--store', url]])
    if (urls.length === kinds.length) return { urls, stop }
  }
  throw new Error(`npm run testbed -- ${kinds.join(' ')} has ended before all servers were up`)
}
