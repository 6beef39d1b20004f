/** Servers that are given by their paths instead of looked for: other versions, other makes. */
import { readFile } from 'node:fs/promises'
import { type Found, pathsOf } from './find.ts'
import type { ServerKind } from './needs.ts'

export interface GivenServer {
  readonly version: string
  /** 'mysql' where MariaDB would be; default: the kind's own make. */
  readonly make?: string
  /** The folder in which its own files lie; default: where it was built to find them. */
  readonly base?: string
  /** By the names of the kind's programs, such as `redis-server`. */
  readonly paths: Readonly<Record<string, string>>
}

export type GivenServers = Readonly<Partial<Record<ServerKind, GivenServer>>>

export function foundOf(kind: ServerKind, { version, make, base, paths }: GivenServer): Found {
  return { kind, version, make, base, path: pathsOf(kind, new Map(Object.entries(paths))) }
}

/**
 * The servers in the JSON file that HOLDFAST_TEST_SERVERS names, so that every test can run on another server. Without
 * that variable: none.
 */
export async function givenByEnvironment(): Promise<GivenServers> {
  const file = process.env['HOLDFAST_TEST_SERVERS'] ?? ''
  return file === '' ? {} : readGiven(file)
}

export async function readGiven(file: string): Promise<GivenServers> {
  return JSON.parse(await readFile(file, 'utf8')) as GivenServers
}
