/** Runs one test in a tree, and tells a test that failed from a run that broke. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const PATIENCE_MS = 15 * 60_000

/**
 * `failed` is a test of that name that ran and failed. A file that can't be loaded, a server that did not start, a name
 * that no test has: `broken`.
 * @param {string} root
 * @param {string} test
 * @param {string | undefined} only
 * @returns {Promise<{ outcome: 'passed' | 'failed' | 'broken', says: string }>}
 */
export function runTest(root, test, only) {
  return test.endsWith('/main.ts') ? simulate(root, test, only) : vitest(root, test, only)
}

/** The simulation names the seed of what it finds; a run that merely breaks does not. */
async function simulate(root, test, seeds = '1..10000') {
  const { code, out } = await command(root, ['--import', 'tsx', test, '--seeds', seeds])
  const found = out.match(/✗ seed \d+: .*/)?.[0]
  if (code === 0) return { outcome: 'passed', says: '' }
  return found === undefined ? { outcome: 'broken', says: tail(out) } : { outcome: 'failed', says: found }
}

async function vitest(root, test, only) {
  const report = join(root, 'vitest-report.json')
  rmSync(report, { force: true })
  const project = test.endsWith('.real.test.ts') ? 'real' : 'unit'
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--project',
    project,
    '--no-color',
    '--reporter=json',
    `--outputFile=${report}`,
  ]
  if (only !== undefined) args.push('-t', only.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  const { code, out } = await command(root, [...args, test])
  const results = read(report)
  if (results === null) return { outcome: 'broken', says: tail(out) }
  const tests = results.testResults.flatMap(({ assertionResults }) => assertionResults)
  const failed = tests.filter(({ status }) => status === 'failed')
  if (failed.length > 0) return { outcome: 'failed', says: `${failed[0].fullName}: ${firstLine(failed[0])}` }
  if (!tests.some(({ status }) => status === 'passed')) {
    const why = results.testResults.map(({ message }) => message).find((message) => message)
    return { outcome: 'broken', says: why ?? `no test ran; is there one named ${only ?? 'anything'}? ${tail(out)}` }
  }
  return code === 0
    ? { outcome: 'passed', says: '' }
    : { outcome: 'broken', says: `every test passed, and yet: ${tail(out)}` }
}

function read(report) {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return null
  }
}

function firstLine({ failureMessages }) {
  return (failureMessages[0] ?? '').split('\n')[0]
}

/** @returns {Promise<{ code: number, out: string }>} */
function command(root, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], timeout: PATIENCE_MS })
    let out = ''
    child.stdout.on('data', (chunk) => (out += chunk))
    child.stderr.on('data', (chunk) => (out += chunk))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? -1, out }))
  })
}

function tail(text) {
  return text.trim().split('\n').slice(-15).join('\n')
}
