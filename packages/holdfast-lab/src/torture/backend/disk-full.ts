/** The disk of a server is full, and after a while it is not. */
import { fillDisk, freeDisk } from '../../testbed/disk.ts'
import type { Server } from '../../testbed/server.ts'
import type { Deed } from './backend.ts'
import type { Pick } from './deeds.ts'

/** Room for an hour of torture: etcd alone keeps five logs of 64 MB. */
export const DISK_MB = 512

export function diskFull(pick: Pick): Deed {
  return {
    forgets: false,
    aim: async (random, ttlMs) => {
      const server = await pick(random)
      return {
        target: server.name,
        lastsMs: ttlMs * (0.8 + random.next() * 1.5),
        strike: () => fillDisk(server.dir),
        heal: async () => {
          await freeDisk(server.dir)
          await supervise(server)
        },
      }
    },
  }
}

/** Some servers end by themselves when they can't write. Whoever watches over them starts them again. */
export async function supervise(server: Server): Promise<void> {
  try {
    await server.ready()
  } catch {
    await server.kill()
    await server.start()
  }
}
