/**
 * Makes package-lock.json anew after a change of dependencies: `node scripts/lock.js`.
 * npm's own option to leave addresses out also leaves out the versions of other platforms' packages, and `npm ci` then
 * refuses the file; so they are written first and struck out here.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const { status } = spawnSync('npm', ['install', '--package-lock-only'], {
  stdio: 'inherit',
  env: { ...process.env, npm_config_omit_lockfile_registry_resolved: 'false' },
})
if (status !== 0) process.exit(status ?? 1)
const lock = readFileSync('package-lock.json', 'utf8')
writeFileSync('package-lock.json', lock.replace(/^ *"resolved": .*\n/gm, ''))
