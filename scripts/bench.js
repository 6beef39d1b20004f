/** `npm run bench`: builds the library, installs the peers when they are asked for and missing, and measures. */
import { existsSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { runSteps } from './run.js'

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
process.exitCode = spawnSync(process.execPath, ['bench/main.js', ...args], { stdio: 'inherit' }).status ?? 70
