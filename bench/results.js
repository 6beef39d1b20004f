/** Keeps a run as JSON: every figure of every round, the machine, the versions, and the command that made it. */
import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { versions } from './load.js'

const FOLDER = fileURLToPath(new URL('./results/', import.meta.url))

export function conditions() {
  const [cpu] = cpus()
  return {
    command: `npm run bench -- ${process.argv.slice(2).join(' ')}`.trim(),
    at: new Date().toISOString(),
    commit: commit(),
    node: process.version,
    machine: { cpu: cpu?.model ?? 'unknown', cores: cpus().length, memoryB: totalmem(), kernel: release() },
    loadBefore: loadavg()[0],
    versions: versions(),
  }
}

/** 'unknown' without git or without a repository, because a copy of the sources can be measured, too. */
function commit() {
  const head = git('rev-parse', '--short', 'HEAD')
  if (head === 'unknown') return head
  return git('status', '--porcelain', '--', 'src') === '' ? head : `${head} and changes`
}

/** @param {string[]} args */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : 'unknown'
}

/** @param {object} result @returns {Promise<string>} where it is */
export async function keep(result) {
  await mkdir(FOLDER, { recursive: true })
  const file = join(FOLDER, `${new Date().toISOString().replaceAll(':', '-').slice(0, 19)}.json`)
  await writeFile(file, `${JSON.stringify(result, null, 1)}\n`)
  return file
}
