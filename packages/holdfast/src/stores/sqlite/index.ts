/** `holdfast/sqlite`: locks between the processes of one host, in a file; no server. */
import { resolve } from 'node:path'
import { checkKeys, checkName, checkOneOf, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { system } from '../../system.ts'
import { defaultPath } from './default-path.ts'
import { SqliteDriver } from './driver.ts'
import type { EngineName } from './engine.ts'
import { readHost } from './host.ts'
import { DEFAULT_PREFIX, Names } from './names.ts'

/** Options of `sqlite`. */
export interface SqliteOptions {
  /**
   * The file; created with its folder if it does not exist. Default: `defaultPath()`, created for this user only. Never
   * on a network file system.
   */
  readonly path?: string
  /** Names with different prefixes are different locks in one file. Default 'holdfast'; 1 to 128 bytes. */
  readonly prefix?: string
  /** Which SQLite. Default: `node:sqlite` if Node has it (22.13 and later), else `libsql`. */
  readonly engine?: EngineName
  /** Clocks and timers, for tests. Default: the real ones. */
  readonly runtime?: Pick<Runtime, 'now' | 'wallNow' | 'after' | 'random'>
}

export { defaultPath } from './default-path.ts'
export type { SqliteDriver } from './driver.ts'
export type { EngineName } from './engine.ts'

/** A store in a file that the processes of this host share. The first call opens the file. */
export function sqlite(given: string | SqliteOptions = {}): SqliteDriver {
  const options: SqliteOptions = typeof given === 'string' ? { path: given } : given
  checkKeys('sqlite options', options, ['path', 'prefix', 'engine', 'runtime'])
  const { path = defaultPath(), prefix = DEFAULT_PREFIX, engine, runtime = system } = options
  if (typeof path !== 'string' || path === '' || path.includes('\0') || path.startsWith(':memory:')) {
    throw new UsageError(`the path of a SQLite store must name a file, given ${shown(path)}`)
  }
  if (engine !== undefined) checkOneOf('engine', engine, ['node:sqlite', 'libsql'])
  checkName('prefix', prefix, 128)
  const isPrivate = options.path === undefined
  return new SqliteDriver({
    path: resolve(path),
    isPrivate,
    engine,
    runtime,
    host: readHost(),
    names: new Names(prefix),
  })
}

export default sqlite
