/** Who may use what stands beside the file: whoever may write the file, and nobody else. */
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  type Stats,
  statSync,
} from 'node:fs'

/** From linux/fcntl.h, which Node does not hand on: a descriptor that only names a file. */
const O_PATH = 0o10_000_000
/** Whether a file can be used by its descriptor, whatever is put in its place meanwhile. */
export const hasProc: boolean = existsSync('/proc/self/fd')

export interface Access {
  readonly uid: number
  readonly gid: number
  /** The file's own mode, which its log has as well. */
  readonly mode: number
  /** For the folder of wake-ups, and for a socket in it. */
  readonly folderMode: number
  readonly socketMode: number
}

export function accessTo(file: string): Access {
  const { uid, gid, mode } = statSync(file)
  let [folderMode, socketMode] = [0, 0]
  for (const shift of [6, 3, 0]) {
    // Holdfast can do nothing with a file that it may only read.
    if (((mode >> shift) & 6) !== 6) continue
    folderMode |= 7 << shift
    socketMode |= 6 << shift
  }
  // The sticky bit: among users who share the folder each removes his own sockets only.
  if ((folderMode & 0o077) !== 0) folderMode |= 0o1000
  return { uid, gid, mode: mode & 0o777, folderMode, socketMode }
}

/** Whether the mode of what this user owns is ours to change. */
export function isOurs(uid: number): boolean {
  const own = process.geteuid?.()
  return own === undefined || own === 0 || own === uid
}

/**
 * Uses a path that leads to this very file, and never through a link. It is not opened for reading: to close a
 * descriptor that is gives back all locks that this process has on the file, those of SQLite included.
 */
export function grasp<T>(path: string, use: (path: string, stat: Stats) => T): T | null {
  return attempt(() => {
    const fd = openSync(path, O_PATH | constants.O_NOFOLLOW)
    try {
      return use(`/proc/self/fd/${fd}`, fstatSync(fd))
    } finally {
      closeSync(fd)
    }
  })
}

/** Gives it the file's owner, as far as we may, and this mode. What root makes belongs to the file's owner. */
export function handTo({ uid, gid }: Access, path: string, mode: number): void {
  if (!hasProc) return
  grasp(path, (itself, stat) => {
    if (stat.isSymbolicLink() || !isOurs(stat.uid)) return
    const owner = process.geteuid?.() === 0 ? uid : stat.uid
    if (stat.gid !== gid || stat.uid !== owner) attempt(() => chownSync(itself, owner, gid))
    if ((stat.mode & 0o7777) !== mode) chmodSync(itself, mode)
  })
}

/**
 * SQLite gives the log the rights that the file has when the log is made. Who changes those of the file later, to share
 * it, would have the others stopped by the log.
 */
export function shareLog(file: string): void {
  const access = accessTo(file)
  for (const suffix of ['-wal', '-shm']) handTo(access, file + suffix, access.mode)
}

/**
 * Makes an empty file that only this user may use; SQLite gives its log the same mode. One that is there stays as its
 * owner has made it. Nothing is opened then: to close it would give back all locks that this process has on the file.
 */
export function makePrivateFile(path: string): void {
  attempt(() => closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)))
}

/** What the file system refuses is null: others are slower then, or are told by SQLite itself. */
export function attempt<T>(step: () => T): T | null {
  try {
    return step()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    return null
  }
}
