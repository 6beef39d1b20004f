/**
 * Makes package-lock.json anew after a change of dependencies: `node scripts/lock.js`.
 * Two things are put right afterwards. Download addresses are struck out. And where the registry at hand lacks the
 * binaries of other platforms, npm leaves them out of the lock and then refuses it in `npm ci`; they are added by what
 * their names say, so that one lock serves every platform.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

rmSync('node_modules', { recursive: true, force: true })
rmSync('package-lock.json', { force: true })
const { status } = spawnSync('npm', ['install', '--package-lock-only'], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
for (const entry of Object.values(lock.packages)) {
  // Our own packages are links: the address of each is its folder.
  if (!entry.link) delete entry.resolved
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const at = `node_modules/${name}`
    if (at in lock.packages || !/^\d+\.\d+\.\d+/.test(version)) continue
    lock.packages[at] = { version, ...platformOf(name), ...(entry.dev ? { dev: true } : {}), optional: true }
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`)

/** @param {string} name */
function platformOf(name) {
  const parts = name.split(/[/-]/)
  const os = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32', 'aix']
  const cpu = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']
  const found = {
    os: os.filter((value) => parts.includes(value)),
    cpu: cpu.filter((value) => parts.includes(value)),
    libc: parts.includes('musl') ? ['musl'] : parts.includes('gnu') ? ['glibc'] : [],
  }
  return Object.fromEntries(Object.entries(found).filter(([, values]) => values.length > 0))
}
