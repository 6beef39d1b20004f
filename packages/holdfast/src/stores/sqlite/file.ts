/** The open file: folder, engine, schema, socket, and this process's row in the census, made ready in that order. */
import { mkdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StoreError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { makePrivateFile, shareLog } from './access.ts'
import { Buckets } from './buckets.ts'
import { Cells } from './cells.ts'
import { Census } from './census.ts'
import { WakeupSockets, type WakeupSocketsListener } from './wakeups-sockets.ts'
import { type Engine, type EngineName, loadEngine, type OpenEngine, rollBack, type Row } from './engine.ts'
import { isBusy, toOpenError } from './errors.ts'
import type { Host } from './host.ts'
import { Listing } from './listing.ts'
import type { Names } from './names.ts'
import type { Wakeup } from './removal.ts'
import { prepareFile } from './schema.ts'
import { SqliteStore } from './store.ts'
import { TransactionBatch } from './batch.ts'

export interface FileListener extends WakeupSocketsListener {
  /** The transaction is in force: send these wake-ups. */
  woken(wakeups: readonly Wakeup[]): void
  /** The path leads to another file now, or to none. */
  replaced(): void
}

export interface FileOptions {
  readonly path: string
  /** Create what is missing at the path for this user only. Default false: the umask decides, as for any file. */
  readonly isPrivate?: boolean
  readonly engine: EngineName | undefined
  readonly runtime: Pick<Runtime, 'now' | 'wallNow' | 'after' | 'random'>
  readonly host: Host
  readonly names: Names
}

const OPEN_MS_MAX = 5_000
/** How often the path is compared with the open file. */
const STAT_MS = 100
const LOG_BYTES_LEFT = 1_048_576
const FOLDER = 0o777
const PRIVATE_FOLDER = 0o700

export class SqliteFile {
  readonly census: Census
  readonly store: SqliteStore
  readonly cells: Cells
  readonly buckets: Buckets
  readonly listing: Listing
  readonly wakeupSockets: WakeupSockets
  readonly batch: TransactionBatch
  /** This process's key in the census. */
  readonly process: number
  readonly engine: Engine
  readonly #options: FileOptions
  readonly #inode: string
  readonly #realPath: string
  #statAt = 0

  private constructor(options: FileOptions, opened: Opened, wakeupSockets: WakeupSockets, listener: FileListener) {
    const { host, runtime, path } = options
    const { engine } = opened
    this.#options = options
    this.#inode = opened.inode
    this.#realPath = opened.realPath
    this.engine = engine
    this.wakeupSockets = wakeupSockets
    this.process = opened.process
    this.census = new Census(engine, host)
    this.store = new SqliteStore(engine, this.census, host, this.process, options.names, () => runtime.wallNow())
    this.cells = new Cells(engine, (last) => this.store.nextToken(last))
    this.buckets = new Buckets(engine)
    this.listing = new Listing(engine, this.store.removal)
    this.batch = new TransactionBatch(engine, path, runtime, {
      before: () => this.#checkInode(listener),
      committed: () => {
        const { wakeups, sockets } = this.store.removal.drain()
        if (wakeups.length > 0) listener.woken(wakeups)
        for (const socket of sockets) wakeupSockets.remove(socket)
      },
      rolledBack: () => void this.store.removal.drain(),
    })
  }

  static async open(options: FileOptions, listener: FileListener): Promise<SqliteFile> {
    const { path, host, runtime } = options
    const openEngine = await loadEngine(options.engine)
    makeFolder(dirname(path), options.isPrivate === true ? PRIVATE_FOLDER : FOLDER)
    if (options.isPrivate === true) makePrivateFile(path)
    const engine = await patiently(options, () => openReady(openEngine, path, host))
    let wakeupSockets: WakeupSockets | null = null
    try {
      const inode = inodeOf(path)
      // SQLite follows links before it names its log, and so must we: two paths to one file are one store.
      const realPath = realpathSync(path)
      shareLog(realPath)
      wakeupSockets = await WakeupSockets.open(realPath, listener, () => runtime.now())
      const { name: socket } = wakeupSockets
      const process = await patiently(options, () => enroll(engine, host, socket))
      return new SqliteFile(options, { engine, process, inode, realPath }, wakeupSockets, listener)
    } catch (error) {
      await wakeupSockets?.close()
      engine.close()
      throw toOpenError(error, path)
    }
  }

  /** Takes this process out of the census, unless places of its own are left to their ttl. */
  async close(): Promise<void> {
    const { engine, process } = this
    await this.batch
      .run(() => {
        const row = engine.prepare('SELECT 1 FROM places WHERE process = ? LIMIT 1').get(process)
        if (row === undefined) this.census.remove(process)
      })
      .catch((error: unknown) => {
        // The row is only litter then: whoever opens the file after this process's end removes it.
        if (!(error instanceof StoreError)) throw error
      })
    await this.batch.close()
    await this.wakeupSockets.close()
    this.#trimLog()
    engine.close()
  }

  /**
   * The last process to close empties the log. But libsql closes only when its statements are garbage-collected, and a
   * process may end before that. Short-lived processes would then each read a long log again.
   */
  #trimLog(): void {
    const log = statSync(`${this.#realPath}-wal`, { throwIfNoEntry: false })
    if (log !== undefined && log.size > LOG_BYTES_LEFT) {
      // If others are at work, this answers with a row, not with an error.
      this.engine.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    }
  }

  /** Changes when another connection has committed; null while the file can't be read. */
  dataVersion(): unknown {
    try {
      return (this.engine.prepare('PRAGMA data_version').get() as Row).data_version
    } catch (error) {
      if (isBusy(error)) return null
      throw error
    }
  }

  /**
   * If somebody deletes or replaces the file, we and those who open the file afterwards have two lines of one name. Say
   * so.
   */
  #checkInode(listener: FileListener): void {
    const { runtime, path } = this.#options
    const now = runtime.now()
    if (now - this.#statAt < STAT_MS) return
    this.#statAt = now
    if (inodeOf(path) === this.#inode) return
    listener.replaced()
    throw new StoreError(`sqlite: ${path} was removed or replaced while it was in use; its locks are lost`)
  }
}

interface Opened {
  readonly engine: Engine
  readonly process: number
  readonly inode: string
  readonly realPath: string
}

/** Tries again while others have the file locked: many processes may open a new file at once. */
async function patiently<T>(options: FileOptions, step: () => T): Promise<T> {
  const { path, runtime } = options
  const until = runtime.now() + OPEN_MS_MAX
  for (;;) {
    try {
      return step()
    } catch (error) {
      if (!isBusy(error) || runtime.now() >= until) throw toOpenError(error, path)
    }
    await new Promise<void>((resolve) => {
      runtime.after(1 + 20 * runtime.random(), resolve, true)
    })
  }
}

function openReady(openEngine: OpenEngine, path: string, host: Host): Engine {
  const engine = openEngine(path)
  try {
    prepareFile(engine, path, host)
    return engine
  } catch (error) {
    engine.close()
    throw error
  }
}

function enroll(engine: Engine, host: Host, socket: string): number {
  const { world, pid, start } = host
  // The key counts only once it is committed. A single statement would return its row first and commit later. If that
  // commit fails, the next process gets the same key, and wake-ups for one go to the other.
  engine.exec('BEGIN IMMEDIATE')
  try {
    const key = new Census(engine, host).add({ world, pid, start, socket, isGroup: false })
    engine.exec('COMMIT')
    return key
  } catch (error) {
    rollBack(engine)
    throw error
  }
}

function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { recursive: true, mode })
  } catch (error) {
    throw new StoreError(`sqlite: the folder ${path} can't be made: ${(error as Error).message}`, { cause: error })
  }
}

function inodeOf(path: string): string {
  let stat: Stats | undefined
  try {
    stat = statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw new StoreError(`sqlite: ${path} can't be looked at: ${(error as Error).message}`, { cause: error })
  }
  return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}`
}
