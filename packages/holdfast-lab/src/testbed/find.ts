/** Finds the programs of each kind, in PATH and where Debian puts them. */
import { access, constants, readdir, realpath } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { UsageError } from 'holdfast'
import { isErrno } from './errno.ts'
import { type Kind, needsOf, type ServerKind } from './needs.ts'
import { runTool } from './tool.ts'

const ARCHIVES = '/usr/share/java'
const LIBRARIES = '/usr/lib/galera'
const MODULES = '/usr/lib/python3/dist-packages'

/** What was found of one kind. */
export interface Found {
  readonly kind: ServerKind
  readonly version: string
  /** Another make of the same kind, such as MySQL for MariaDB; none: the kind's own. */
  readonly make?: string | undefined
  /** The folder in which its own files lie, for a server that is not where it was built to be. */
  readonly base?: string | undefined
  /** The absolute path of a program or archive that the kind needs. */
  path(name: string): string
}

/** Everything that the server needs; null if any of it is missing. */
export async function find(kind: ServerKind): Promise<Found | null> {
  const paths = await look(kind)
  if (paths === null) return null
  const path = pathsOf(kind, paths)
  const { programs: [program = ''] = [], archives: [archive] = [] } = needsOf(kind)
  const version = archive === undefined ? await askVersion(path(program)) : await namedVersion(path(archive))
  return { kind, version, path }
}

/** Looks a path up by its name. */
export function pathsOf(kind: ServerKind, paths: ReadonlyMap<string, string>): (name: string) => string {
  return (name) => {
    const known = paths.get(name)
    if (known === undefined) throw new UsageError(`${name} is not among what ${kind} needs, or was not given`)
    return known
  }
}

/** Where everything is that the kind needs, by name; null if any of it is missing. */
export async function look(kind: Kind): Promise<ReadonlyMap<string, string> | null> {
  const { programs = [], archives = [], libraries = [], modules = [] } = needsOf(kind)
  const paths = new Map<string, string>()
  const folders = await programFolders()
  for (const name of programs) paths.set(name, (await firstWith(folders, name, constants.X_OK)) ?? '')
  for (const name of archives) paths.set(name, (await firstWith([ARCHIVES], name, constants.R_OK)) ?? '')
  for (const name of libraries) paths.set(name, (await firstWith([LIBRARIES], name, constants.R_OK)) ?? '')
  for (const name of modules) paths.set(name, (await firstWith([MODULES], name, constants.R_OK)) ?? '')
  return [...paths.values()].includes('') ? null : paths
}

async function programFolders(): Promise<string[]> {
  const fromPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder.startsWith('/'))
  const majors = (await entries('/usr/lib/postgresql')).filter((name) => /^\d+$/.test(name))
  majors.sort((a, b) => Number(b) - Number(a))
  // The real programs of PostgreSQL come before Debian's wrappers in PATH, which know only the clusters of the system.
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
