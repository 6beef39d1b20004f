/** A cache outside of the repository: one folder for each download, made whole or not at all. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export class Cache {
  /** @param {string} folder readable for the users that servers run as @param {boolean} isFresh fetch all anew */
  constructor(folder = join(tmpdir(), 'holdfast-matrix'), isFresh = false) {
    this.folder = folder
    this.isFresh = isFresh
  }

  /**
   * The folder of that name; `fill` makes what is in it, if it is not there.
   *
   * @param {string} name
   * @param {(folder: string) => Promise<void>} fill
   */
  async get(name, fill) {
    const folder = join(this.folder, name)
    if (this.isFresh) await rm(folder, { recursive: true, force: true })
    if (existsSync(folder)) return folder
    await mkdir(this.folder, { recursive: true, mode: 0o755 })
    const made = await mkdtemp(join(this.folder, 'part-'))
    try {
      const inside = join(made, 'whole')
      await mkdir(inside, { mode: 0o755 })
      await fill(inside)
      await rename(inside, folder)
    } finally {
      await rm(made, { recursive: true, force: true })
    }
    return folder
  }
}
