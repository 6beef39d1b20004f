/** The disk of a server is full for a while. */
import { fillDisk, freeDisk } from '../../testbed/disk.ts'
import type { Server } from '../../testbed/server.ts'
import type { Blow } from '../nemesis/blow.ts'
import type { Random } from '../random.ts'
import type { Deed } from './backend.ts'
import type { Pick } from './deeds.ts'

/** Room for an hour of torture: etcd alone keeps five logs of 64 MB. */
export const DISK_MB = 512

export function diskFull(pick: Pick): Deed {
  return {
    forgets: false,
    aim: async (random, ttlMs) => {
      const server = await pick(random)
      return full(server.name, server.dir, random, ttlMs, () => supervise(server))
    },
  }
}

/** For a store without a server: the disk with its file. */
export function fileDiskFull(folder: string): Deed {
  return { forgets: false, aim: (random, ttlMs) => Promise.resolve(full('the file', folder, random, ttlMs)) }
}

function full(target: string, folder: string, random: Random, ttlMs: number, after?: () => Promise<void>): Blow {
  return {
    target,
    lastsMs: ttlMs * (0.8 + random.next() * 1.5),
    strike: () => fillDisk(folder),
    heal: async () => {
      await freeDisk(folder)
      await after?.()
    },
  }
}

/** Some servers end by themselves when they can't write. Then we start them again, as a supervisor would. */
export async function supervise(server: Server): Promise<void> {
  try {
    await server.ready()
  } catch {
    await server.kill()
    await server.start()
  }
}
