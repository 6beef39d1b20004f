/** What tests need: found, installed if that is allowed, or a clear failure; never a silent skip. */
import { UsageError } from 'holdfast'
import { TestbedError } from './error.ts'
import { look } from './find.ts'
import { installPackages } from './install.ts'
import { allKinds, isServerKind, type Kind, packagesOf, type ServerKind, serverKinds, type ToolKind } from './needs.ts'

/** Looks for a kind on this machine; null: something of it is missing. */
type Find = (kind: Kind) => Promise<unknown>

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

/** All that tests use and that is not installed, save what is skipped. */
export function lacking(): Promise<Kind[]> {
  return missing(allKinds.filter((kind) => !isServerKind(kind) || !skipped(kind)))
}

/** Resolves if all these servers are installed, save those that are skipped; rejects with what to do. */
export async function requireServers(kinds: readonly ServerKind[], find: Find = look): Promise<void> {
  const absent = await missing(
    kinds.filter((kind) => !skipped(kind)),
    find,
  )
  if (absent.length > 0) throw refusal(absent, `, or HOLDFAST_TEST_SKIP=${absent.join(',')} to go without`)
}

/** Resolves if all these tools are installed; rejects with what to do. */
export async function requireTools(kinds: readonly ToolKind[], find: Find = look): Promise<void> {
  const absent = await missing(kinds, find)
  if (absent.length > 0) throw refusal(absent, '')
}

function refusal(absent: readonly Kind[], orElse: string): TestbedError {
  const packages = packagesOf(absent).join(' ')
  return new TestbedError(
    `not installed: ${absent.join(', ')}. Install ${packages}, or set HOLDFAST_TEST_INSTALL=1 to have it ` +
      `installed${orElse}`,
  )
}

/** Installs these kinds and makes sure that they are there afterwards. Needs root. */
export async function install(kinds: readonly Kind[]): Promise<void> {
  await installPackages(packagesOf(kinds))
  const still = await missing(kinds)
  if (still.length > 0)
    throw new TestbedError(`installed ${packagesOf(still).join(' ')}, but ${still.join(', ')} can't be found`)
}

/** Those of these kinds that are not installed. */
export async function missing<K extends Kind>(kinds: readonly K[], find: Find = look): Promise<K[]> {
  const found = await Promise.all(kinds.map((kind) => find(kind)))
  return kinds.filter((_, i) => found[i] === null)
}
