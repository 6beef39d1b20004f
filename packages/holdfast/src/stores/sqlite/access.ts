/** Who may use what lies beside the file: whoever may write the file, and nobody else. */
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

/** From linux/fcntl.h, which Node does not export: a descriptor that only names a file. */
const O_PATH = 0o10_000_000
/** Whether a file can be used by its descriptor, whatever anybody puts in its place meanwhile. */
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
  // The sticky bit: among users who share the folder, each can remove only their own sockets.
  if ((folderMode & 0o077) !== 0) folderMode |= 0o1000
  return { uid, gid, mode: mode & 0o777, folderMode, socketMode }
}

/** Whether we may change the mode of what this user owns. */
export function isOurs(uid: number): boolean {
  const own = process.geteuid?.()
  return own === undefined || own === 0 || own === uid
}

/**
 * Calls `use` with a path that leads to this very file, and never through a link. The file is not opened for reading:
 * closing such a descriptor gives back all locks that this process has on the file, including those of SQLite.
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

/** Gives it the file's owner, as far as we may, and this mode. What root creates belongs to the file's owner. */
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
 * SQLite gives its log the rights that the file has when the log is created. If the owner later changes the rights of
 * the file, to share it, the log would stop the others.
 */
export function shareLog(file: string): void {
  const access = accessTo(file)
  for (const suffix of ['-wal', '-shm']) handTo(access, file + suffix, access.mode)
}

/**
 * Creates an empty file that only this user may use; SQLite gives its log the same mode. An existing file stays as its
 * owner made it, and is not opened: closing it would give back all locks that this process has on the file.
 */
export function makePrivateFile(path: string): void {
  attempt(() => closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)))
}

/** null if the file system refuses: then other processes are slower, or SQLite itself reports an error. */
export function attempt<T>(step: () => T): T | null {
  try {
    return step()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    return null
  }
}
