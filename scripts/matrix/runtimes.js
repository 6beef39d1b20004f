/** The runtimes that the matrix runs: one line each, all from npm. */
import { join } from 'node:path'
import { fromNpm } from './npm.js'

/**
 * @typedef {import('./cache.js').Cache} Cache
 * @typedef {{ readonly version: string, readonly command: readonly [string, ...string[]] }} Runtime
 * @typedef {{ readonly runtime: string, readonly get: (cache: Cache) => Promise<Runtime> }} Entry
 */

/** @type {readonly Entry[]} */
export const RUNTIMES = [
  { runtime: 'Node', get: node(20) },
  { runtime: 'Node', get: node(22) },
  { runtime: 'Node', get: node(24) },
  { runtime: 'Bun', get: bun },
  { runtime: 'Deno', get: deno },
]

/** @param {number} major */
function node(major) {
  /** @param {Cache} cache @returns {Promise<Runtime>} */
  return async (cache) => {
    const { folder, version } = await fromNpm(cache, `node-linux-${process.arch}`, { major })
    return { version, command: [join(folder, 'bin/node')] }
  }
}

/** @param {Cache} cache @returns {Promise<Runtime>} */
export async function bun(cache) {
  const { folder, version } = await fromNpm(cache, `@oven/bun-linux-${process.arch}`)
  return { version, command: [join(folder, 'bin/bun')] }
}

/** @param {Cache} cache @returns {Promise<Runtime>} */
async function deno(cache) {
  const { folder, version } = await fromNpm(cache, `@deno/linux-${process.arch}-glibc`)
  return { version, command: [join(folder, 'deno'), 'run', '--allow-all'] }
}
