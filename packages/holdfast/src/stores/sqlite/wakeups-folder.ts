/**
 * The folder beside the file, with one socket for each process. Users who share a file need not trust each other, and
 * any of them may put anything into the folder and into the file. So nothing in the folder is used by its name alone:
 * it is opened without following a link, checked to be a socket, and then used by its descriptor.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  type Stats,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Access, accessTo, attempt, grasp, handTo, hasProc, isOurs } from './access.ts'

/** The form of our sockets' names. A name in the file that looks different belongs to no process of ours. */
const NAME = /^[0-9a-f]{12}$/
/** If nobody has claimed a socket by then, its process died before it could. */
const UNCLAIMED_MS = 60_000

export function isSocketName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name)
}

export class WakeupFolder {
  readonly #fd: number
  /**
   * Through the descriptor: nobody who may write beside the file can put another folder in this one's place. And it is
   * short.
   */
  readonly #path: string
  readonly #access: Access

  private constructor(fd: number, path: string, access: Access) {
    this.#fd = fd
    this.#path = hasProc ? `/proc/self/fd/${fd}` : path
    this.#access = access
  }

  /** null: this process can have no folder; the store works without, only slower. */
  static open(file: string): WakeupFolder | null {
    const path = `${file}-wake`
    return attempt(() => {
      const access = accessTo(file)
      makeFolder(path, access.folderMode)
      const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
      const folder = new WakeupFolder(fd, path, access)
      if (folder.#share()) return folder
      folder.close()
      return null
    })
  }

  /** The path for a socket of ours. */
  place(name: string): string {
    return join(this.#path, name)
  }

  /** Lets all who may write the file connect to a socket of ours. */
  admit(name: string): void {
    handTo(this.#access, this.place(name), this.#access.socketMode)
  }

  /**
   * Calls `use` with a path that leads to this very socket, whatever anybody puts in its place. null: it is not ours.
   */
  reach<T>(name: string, use: (path: string) => T): T | null {
    return this.#grasp(name, use)
  }

  /** Removes the socket of a dead process, if we may; otherwise the next process of its owner does. */
  remove(name: string): void {
    if (this.#grasp(name, () => true) === true) attempt(() => unlinkSync(this.place(name)))
  }

  /** Removes the sockets of dead processes that are not in the census any more. `own` shows the file system's time. */
  sweep(own: string, claimed: ReadonlySet<string>): void {
    const now = this.#grasp(own, (_, stat) => stat.mtimeMs)
    if (now === null) return
    for (const name of attempt(() => readdirSync(this.#path)) ?? []) {
      if (claimed.has(name)) continue
      const madeAt = this.#grasp(name, (_, stat) => stat.mtimeMs)
      if (madeAt !== null && now - madeAt > UNCLAIMED_MS) this.remove(name)
    }
  }

  close(): void {
    closeSync(this.#fd)
  }

  #grasp<T>(name: string, use: (path: string, stat: Stats) => T): T | null {
    if (!isSocketName(name)) return null
    const ifSocket = (path: string, stat: Stats): T | null => (stat.isSocket() ? use(path, stat) : null)
    const path = this.place(name)
    return hasProc ? grasp(path, ifSocket) : attempt(() => ifSocket(path, lstatSync(path)))
  }

  /** Gives the folder the file's own rights. False: it belongs to a stranger, who could read the wake-ups. */
  #share(): boolean {
    const { uid } = fstatSync(this.#fd)
    if (!isOurs(uid)) return uid === this.#access.uid || uid === 0
    handTo(this.#access, `${this.#path}/.`, this.#access.folderMode)
    return true
  }
}

function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
