/** Finds the programs of each kind of server, in PATH and where Debian puts them. */
import { access, constants, readdir, realpath } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { UsageError } from '../core/errors.ts'
import { isErrno } from './errno.ts'
import { runTool } from './tool.ts'

/** A kind of server that the testbed can start. */
export type ServerKind = 'redis' | 'etcd' | 'zookeeper' | 'postgres' | 'pgbouncer' | 'mariadb'

interface Needs {
  /** Programs; the first one is asked for its version. */
  readonly programs: readonly string[]
  /** Java archives, which have no version to ask for but one in their name. */
  readonly archives?: readonly string[]
  /** Debian packages that bring all this. */
  readonly packages: readonly string[]
}

const NEEDS: Readonly<Record<ServerKind, Needs>> = {
  redis: { programs: ['redis-server', 'redis-cli'], packages: ['redis-server'] },
  etcd: { programs: ['etcd', 'etcdctl'], packages: ['etcd-server', 'etcd-client'] },
  zookeeper: {
    programs: ['java'],
    archives: ['zookeeper.jar', 'slf4j-simple.jar'],
    packages: ['zookeeper', 'default-jre-headless'],
  },
  postgres: { programs: ['postgres', 'initdb'], packages: ['postgresql'] },
  pgbouncer: { programs: ['pgbouncer'], packages: ['pgbouncer'] },
  mariadb: { programs: ['mariadbd', 'mariadb-install-db'], packages: ['mariadb-server'] },
}

const ARCHIVES = '/usr/share/java'

/** What was found of one kind. */
export interface Found {
  readonly kind: ServerKind
  readonly version: string
  /** The absolute path of a program or archive that the kind needs. */
  path(name: string): string
}

/** All kinds, in the order in which they are started. */
export const serverKinds: readonly ServerKind[] = Object.keys(NEEDS) as ServerKind[]

export function isServerKind(name: string): name is ServerKind {
  return Object.hasOwn(NEEDS, name)
}

/** The Debian packages that bring these kinds. */
export function packagesOf(kinds: readonly ServerKind[]): string[] {
  return kinds.flatMap((kind) => NEEDS[kind].packages)
}

/** Everything that the kind needs; null if any of it is missing. */
export async function find(kind: ServerKind): Promise<Found | null> {
  const needs = NEEDS[kind]
  const paths = new Map<string, string>()
  const folders = await programFolders()
  for (const name of needs.programs) paths.set(name, (await firstWith(folders, name, constants.X_OK)) ?? '')
  for (const name of needs.archives ?? []) paths.set(name, (await firstWith([ARCHIVES], name, constants.R_OK)) ?? '')
  if ([...paths.values()].includes('')) return null
  const path = (name: string): string => {
    const known = paths.get(name)
    if (known === undefined) throw new UsageError(`${name} is not among what ${kind} needs`)
    return known
  }
  const [program = '', archive] = [needs.programs[0], needs.archives?.[0]]
  const version = archive === undefined ? await askVersion(path(program)) : await namedVersion(path(archive))
  return { kind, version, path }
}

async function programFolders(): Promise<string[]> {
  const fromPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'))
  const majors = (await entries('/usr/lib/postgresql')).filter((name) => /^\d+$/.test(name))
  majors.sort((a, b) => Number(b) - Number(a))
  // The true programs of PostgreSQL come before Debian's wrappers in PATH, which know only the clusters of the system.
  const postgres = majors.map((major) => `/usr/lib/postgresql/${major}/bin`)
  return [...postgres, ...fromPath, '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin']
}

async function entries(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return []
    throw error
  }
}

async function firstWith(folders: readonly string[], name: string, mode: number): Promise<string | null> {
  for (const folder of folders) {
    const path = join(folder, name)
    try {
      await access(path, mode)
      return path
    } catch (error) {
      if (!isErrno(error, 'ENOENT', 'ENOTDIR', 'EACCES')) throw error
    }
  }
  return null
}

async function askVersion(program: string): Promise<string> {
  return versionIn(await runTool(program, ['--version']))
}

/** Debian has zookeeper.jar and, in the same folder, the same under its versioned name; one is a link to the other. */
async function namedVersion(archive: string): Promise<string> {
  const target = await realpath(archive)
  for (const name of await entries(ARCHIVES)) {
    if (!/^zookeeper-\d/.test(name)) continue
    if ((await realpath(join(ARCHIVES, name))) === target) return versionIn(name)
  }
  return versionIn(target)
}

function versionIn(text: string): string {
  return /\d+\.\d+(\.\d+)?/.exec(text)?.[0] ?? 'unknown'
}
