/** Each fsync of the servers takes long, so data reach the disk late. */
import type { Deed } from './backend.ts'
import { type Dial, Shim } from './shim.ts'

/** The number is how many nanoseconds a synchronization takes at least. */
const SOURCE = `
static void wait(void) {
  int64_t ns = *dial;
  if (ns <= 0) return;
  struct timespec ts = { ns / 1000000000, ns % 1000000000 };
  nanosleep(&ts, 0);
}
int fsync(int fd) { wait(); return (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { wait(); return (int)syscall(SYS_fdatasync, fd); }
`

export interface SlowDisk {
  /** For the servers' environment; none where it can't be done. */
  readonly env: Readonly<Record<string, string>>
  /** Why it can't; null: it can. */
  readonly problem: string | null
  readonly deed: (around?: Around) => Deed
}

/** What else a store needs, so that its answers wait for the disk. */
export interface Around {
  readonly before: () => Promise<void>
  readonly after: () => Promise<void>
}

export async function slowDisk(folder: string): Promise<SlowDisk> {
  const shim = await Shim.build(folder, 'disk', SOURCE)
  const dial = shim.problem === null ? await shim.dial('all') : null
  return { env: dial?.env ?? {}, problem: shim.problem, deed: (around) => late(dial, around) }
}

function late(dial: Dial | null, around?: Around): Deed {
  return {
    forgets: false,
    aim: (random, ttlMs) =>
      Promise.resolve({
        target: 'all disks',
        lastsMs: ttlMs * (2 + random.next()),
        strike: async () => {
          await around?.before()
          // Some renewals come through and some do not.
          await dial?.set(BigInt(Math.round(ttlMs * (0.1 + random.next() * 0.5) * 1e6)))
        },
        heal: async () => {
          await dial?.set(0n)
          await around?.after()
        },
      }),
  }
}
