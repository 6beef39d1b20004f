/**
 * `npm run matrix:clients [-- ioredis pg@8.0.3]`: the laws that rest on the client, over the lowest and the highest
 * version of each that package.json promises (scripts/clients/clients.json), against real servers. Prints a table for
 * docs/reference/clients.md.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conformance } from '../packages/holdfast/build/conformance/index.js'
import { testbed } from '../packages/holdfast-lab/dist/src/testbed/testbed.js'

const CLIENTS = JSON.parse(readFileSync(new URL('clients/clients.json', import.meta.url), 'utf8'))
const MODULE = new URL('clients/over-client.js', import.meta.url)
const LAWS = new Set(['exclusion', 'tokens', 'life', 'watch', 'owner'])
/** Processes of their own and blocked event loops say more of the store than of the client. */
const OF_PROCESSES = /process|killed|event loop/
const AT_ONCE = 4
/** After so many failures the version does not work, so the remaining cases are not awaited. */
const FAILURES_MAX = 4
const wanted = process.argv.slice(2)

const bed = await testbed()
const servers = new Map()
console.log('| client | cases | failed |\n| --- | --- | --- |')
for (const [name, { server, versions }] of Object.entries(CLIENTS)) {
  for (const version of versions) {
    if (wanted.length > 0 && !wanted.includes(name) && !wanted.includes(`${name}@${version}`)) continue
    if (!servers.has(server)) servers.set(server, await bed[server]())
    const failed = await judge(name, version, servers.get(server).url)
    console.log(`| ${name} ${version} | ${failed.count} | ${failed.names.join('; ') || 'none'} |`)
    if (failed.names.length > 0) process.exitCode = 1
  }
}
await bed.close()
// A case that failed may have left connections open.
process.exit()

/** @param {string} name @param {string} version @param {string} url */
async function judge(name, version, url) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-client-'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: { [name]: version } }))
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], { cwd: folder })
  const cases = conformance({ module: MODULE, config: { name, folder, url } }).filter(
    (one) => LAWS.has(one.law) && !OF_PROCESSES.test(one.name),
  )
  /** @type {string[]} */
  const names = []
  const waiting = [...cases]
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const { run, law, name: what, timeoutMs } = one
      const late = new Promise((_, reject) => setTimeout(() => reject(new Error('too late')), timeoutMs).unref())
      await Promise.race([run(), late]).catch((error) => {
        names.push(`${law}: ${what} (${String(error.message).split('\n')[0]})`)
      })
      if (names.length >= FAILURES_MAX) waiting.length = 0
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  rmSync(folder, { recursive: true, force: true })
  return { count: cases.length, names }
}
