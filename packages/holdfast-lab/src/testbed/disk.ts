/** A small file system in memory for one server: it can be filled to its last byte, and emptied again. */
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isErrno } from './errno.ts'
import { runTool } from './tool.ts'

/** What takes up the room. */
const BALLAST = 'ballast'
const CHUNK_BYTES = 1 << 20

/** Mounts it on a folder that exists. Needs root; goes with `unmountDisk`, or with the guardian of the testbed. */
export async function mountDisk(folder: string, sizeMb: number): Promise<void> {
  await runTool('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=755`, 'holdfast', folder])
}

export async function unmountDisk(folder: string): Promise<void> {
  await runTool('umount', ['--lazy', folder])
}

/** Nobody can write one more byte to it, root included. */
export async function fillDisk(folder: string): Promise<void> {
  const file = await open(join(folder, BALLAST), 'a')
  try {
    // Ever smaller pieces: what others let go meanwhile is taken, too.
    for (let bytes = CHUNK_BYTES; bytes >= 1; bytes >>= 1) while (await fits(file, Buffer.alloc(bytes)));
  } finally {
    await file.close()
  }
}

async function fits(file: Awaited<ReturnType<typeof open>>, piece: Buffer): Promise<boolean> {
  try {
    const { bytesWritten } = await file.write(piece)
    return bytesWritten === piece.length
  } catch (error) {
    if (isErrno(error, 'ENOSPC')) return false
    throw error
  }
}

export async function freeDisk(folder: string): Promise<void> {
  await rm(join(folder, BALLAST), { force: true })
}
