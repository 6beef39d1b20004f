/** The file's schema: created if the file is new, recognised if it is ours, refused without a change if it is not. */
import { StoreError } from '../../contract/errors.ts'
import { BUSY_TIMEOUT_MS, type Engine, rollBack, type Row } from './engine.ts'
import { type Host, UNKNOWN_BOOT } from './host.ts'
import { DEFAULT_PREFIX, Names } from './names.ts'

/** 'Hold' in ASCII: tells a file of ours from any other SQLite database. */
const APPLICATION_ID = 0x486f6c64
const VERSION = 3

// A row of `place` seldom passes 250 bytes. Small pages mean small commits; 2 048 bytes still hold such a row whole.
const PAGE_BYTES = 2_048
// A checkpoint syncs the disk, which may take tens of milliseconds inside a caller's call. Every 16 MiB it is rare.
const CHECKPOINT_PAGES = 8_192
// After a burst the next checkpoint shrinks the log to this size.
const LOG_BYTES_KEPT = 2 * CHECKPOINT_PAGES * PAGE_BYTES

/**
 * Lines, cells and limits are kept by their names with a prefix: see names.ts. `host` has one row: the boot that the
 * file's times belong to, and the last token or version given out in any line. There is no table of lines: a line is
 * its places, so nothing of it is left when they have gone. `process` lists the processes whose death matters.
 * `place.process` is the process that entered; `place.also` lists (keys, with commas) the processes that also keep the
 * place alive. A key of 0 there stands for no process, and keeps the place until its ttl even if all others are dead. A
 * raised place weighs `raised` for places whose token is past `beside`, and waits for all other places up to it. Times
 * are microseconds on the host's monotonic clock.
 */
const TABLES = `
CREATE TABLE host (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  boot TEXT NOT NULL,
  token INTEGER NOT NULL CHECK (token < 9007199254740992)
) STRICT;
CREATE TABLE process (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  world TEXT,
  pid INTEGER NOT NULL,
  start TEXT,
  is_group INTEGER NOT NULL,
  socket TEXT NOT NULL
) STRICT;
CREATE TABLE grave (
  id TEXT PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE cell (
  key TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  value TEXT,
  nonce TEXT NOT NULL,
  ttl_us INTEGER NOT NULL,
  lapses_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX cell_by_lapse ON cell (lapses_at) WHERE lapses_at IS NOT NULL;
`

/**
 * The table as it is since version 3, under another name: a process of an older version gets an error, and does not
 * overlook a raise.
 */
const PLACES = `
CREATE TABLE places (
  line TEXT NOT NULL,
  token INTEGER NOT NULL,
  id TEXT NOT NULL,
  weight INTEGER NOT NULL,
  capacity INTEGER NOT NULL,
  ttl_us INTEGER NOT NULL,
  process INTEGER NOT NULL,
  also TEXT,
  entered_at INTEGER NOT NULL,
  lapses_at INTEGER NOT NULL,
  granted INTEGER NOT NULL,
  broken INTEGER NOT NULL,
  data TEXT NOT NULL,
  turn INTEGER NOT NULL DEFAULT 0,
  raised INTEGER,
  beside INTEGER,
  PRIMARY KEY (line, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX places_raised ON places (line) WHERE raised IS NOT NULL;
`

/** What version 2 added: rate limits. */
const BUCKETS = `
CREATE TABLE bucket (
  key TEXT PRIMARY KEY,
  level INTEGER NOT NULL,
  at INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  shut_until INTEGER NOT NULL,
  lapses_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX bucket_by_lapse ON bucket (lapses_at);
`

/**
 * Makes the file ready. Throws the engine's error while the file is busy, and a StoreError if the file is not for us.
 */
export function prepareFile(engine: Engine, path: string, host: Host): void {
  engine.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  // Whoever may write the file may also have changed its schema: their triggers and views can call no function with
  // effects.
  engine.exec('PRAGMA trusted_schema = OFF')
  const isNew = check(engine, path)
  if (isNew) engine.exec(`PRAGMA page_size = ${PAGE_BYTES}`)
  // NORMAL syncs at checkpoints only. A loss of power may take the last commits, but every holder dies with the power,
  // too, and the next token is past the wall clock's microseconds: so no grant outlives its holder, and no token falls.
  const { journal_mode: mode } = engine.prepare('PRAGMA journal_mode = WAL').get() as Row
  if (mode !== 'wal') {
    throw new StoreError(
      `sqlite: ${path} is on a file system that can't share a log (a network one?); use a local disk`,
    )
  }
  engine.exec('PRAGMA synchronous = NORMAL')
  engine.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  engine.exec(`PRAGMA journal_size_limit = ${LOG_BYTES_KEPT}`)
  engine.exec('BEGIN IMMEDIATE')
  try {
    // Check again under the lock: several processes may have found the file empty.
    if (check(engine, path)) create(engine, host)
    else takeOver(engine, host)
    engine.exec('COMMIT')
  } catch (error) {
    rollBack(engine)
    throw error
  }
}

/** True: the file is empty. Only reads, because a file that is not ours must stay as it is. */
function check(engine: Engine, path: string): boolean {
  // Count first: another process may create the tables between two of these reads, and its commit brings the mark
  // along.
  const { n } = engine.prepare('SELECT count(*) AS n FROM sqlite_schema').get() as { readonly n: number }
  const application = pragma(engine, 'application_id')
  const version = pragma(engine, 'user_version')
  if (application === APPLICATION_ID) {
    if (version <= VERSION) return false
    throw new StoreError(
      `sqlite: ${path} was made by a newer Holdfast (schema ${version}, this one knows ${VERSION}); upgrade this one`,
    )
  }
  if (application === 0 && version === 0 && n === 0) return true
  throw new StoreError(`sqlite: ${path} is a database of another program; give Holdfast a file of its own`)
}

function pragma(engine: Engine, name: string): number {
  return Number((engine.prepare(`PRAGMA ${name}`).get() as Row)[name])
}

function create(engine: Engine, host: Host): void {
  engine.exec(TABLES)
  engine.exec(PLACES)
  engine.exec(BUCKETS)
  engine.prepare('INSERT INTO host VALUES (1, ?, 0)').run(host.boot)
  engine.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
  engine.exec(`PRAGMA user_version = ${VERSION}`)
}

/**
 * After a reboot every process in the file is dead, and the times in the file belong to a clock that is gone. Cells
 * outlive a reboot: a cell with a ttl starts its ttl anew, so that none ends early.
 */
function takeOver(engine: Engine, host: Host): void {
  upgrade(engine)
  const row = engine.prepare('SELECT boot FROM host').get() as { readonly boot: string }
  const isUnknown = host.boot === UNKNOWN_BOOT
  if (row.boot === host.boot && !(isUnknown && isOfFormerBoot(engine, host.now()))) return
  engine.exec('DELETE FROM places; DELETE FROM process; DELETE FROM grave; DELETE FROM bucket')
  engine.prepare('UPDATE cell SET lapses_at = ? + ttl_us WHERE lapses_at IS NOT NULL').run(host.now())
  engine.prepare('UPDATE host SET boot = ?').run(host.boot)
}

/** Brings a file of an older version up to date, with all its content. */
function upgrade(engine: Engine): void {
  const version = pragma(engine, 'user_version')
  if (version === VERSION) return
  if (version < 2) engine.exec(BUCKETS)
  if (version < 3) {
    const names = new Names(DEFAULT_PREFIX)
    engine.exec(PLACES)
    engine
      .prepare(
        `INSERT INTO places SELECT ? || line, token, id, weight, capacity, ttl_us, process, also, entered_at, lapses_at,
         granted, broken, data, 0, NULL, NULL FROM place`,
      )
      .run(names.stored(''))
    engine.exec('DROP TABLE place')
    for (const table of ['cell', 'bucket']) engine.prepare(`UPDATE ${table} SET key = ? || key`).run(names.stored(''))
  }
  engine.exec(`PRAGMA user_version = ${VERSION}`)
}

/**
 * Without a boot id the clock itself tells. It began anew, so something in the file was written later than now, or
 * lapses later than anything written now could. Whatever this does not recognise lapses within its own ttl.
 */
function isOfFormerBoot(engine: Engine, now: number): boolean {
  const found = engine.prepare(
    `SELECT 1 FROM places WHERE entered_at > ? OR lapses_at > ? + ttl_us
     UNION ALL SELECT 1 FROM cell WHERE lapses_at > ? + ttl_us
     UNION ALL SELECT 1 FROM bucket WHERE at > ? LIMIT 1`,
  )
  return found.get(now, now, now, now) !== undefined
}
