/** What tests need to be there: found, installed when that is allowed, or a clear failure; never a silent skip. */
import { UsageError } from '../core/errors.ts'
import { TestbedError } from './error.ts'
import { find, isServerKind, packagesOf, type ServerKind, serverKinds } from './find.ts'
import { installPackages } from './install.ts'

/** True if the kind is named in HOLDFAST_TEST_SKIP (`etcd,zookeeper`), the only way to skip. */
export function skipped(kind: ServerKind): boolean {
  const names = (process.env['HOLDFAST_TEST_SKIP'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  for (const name of names) {
    if (isServerKind(name)) continue
    throw new UsageError(`HOLDFAST_TEST_SKIP names "${name}"; it can name ${serverKinds.join(', ')}`)
  }
  return names.includes(kind)
}

/** Resolves once all these kinds are installed, save those that are skipped. Installs what is missing if HOLDFAST_TEST_INSTALL is 1. */
export async function requireServers(kinds: readonly ServerKind[]): Promise<void> {
  const wanted = kinds.filter((kind) => !skipped(kind))
  const before = await missing(wanted)
  if (before.length === 0) return
  const packages = packagesOf(before).join(' ')
  if (process.env['HOLDFAST_TEST_INSTALL'] !== '1') {
    throw new TestbedError(
      `not installed: ${before.join(', ')}. Install ${packages}, or set HOLDFAST_TEST_INSTALL=1 to have it installed, ` +
        `or HOLDFAST_TEST_SKIP=${before.join(',')} to go without`,
    )
  }
  await installServers(before)
}

/** Installs these kinds and makes sure that they are there afterwards. Needs root. */
export async function installServers(kinds: readonly ServerKind[]): Promise<void> {
  await installPackages(packagesOf(kinds))
  const still = await missing(kinds)
  if (still.length > 0)
    throw new TestbedError(`installed ${packagesOf(still).join(' ')}, but ${still.join(', ')} can't be found`)
}

/** Those of these kinds that are not installed. */
export async function missing(kinds: readonly ServerKind[]): Promise<ServerKind[]> {
  const found = await Promise.all(kinds.map((kind) => find(kind)))
  return kinds.filter((_, i) => found[i] === null)
}
