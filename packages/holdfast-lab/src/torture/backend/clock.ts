/**
 * Moves the wall clock of one server: a small library that is put before the C library's own clock, and reads an offset
 * from a file.
 */
import { execFile } from 'node:child_process'
import { chmod, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Folder, temporaryFolder } from '../folder.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Deed } from './backend.ts'

/**
 * Only the wall clock is moved, by raw system calls: nothing is looked up while a server's own allocator starts (which
 * hangs Redis under libfaketime), and the monotonic clock stays what it is.
 */
const SOURCE = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile int64_t zero;
static volatile int64_t *offset = &zero;
__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("HOLDFAST_CLOCK");
  int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *at = mmap(0, 8, PROT_READ, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) offset = at;
  close(fd);
}
static void move(struct timespec *ts) {
  int64_t ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + *offset;
  ts->tv_sec = ns / 1000000000;
  ts->tv_nsec = ns % 1000000000;
}
int clock_gettime(clockid_t id, struct timespec *ts) {
  int said = (int)syscall(SYS_clock_gettime, id, ts);
  if (said == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) move(ts);
  return said;
}
int gettimeofday(struct timeval *tv, void *tz) {
  struct timespec ts;
  (void)tz;
  if (syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts) != 0) return -1;
  move(&ts);
  tv->tv_sec = ts.tv_sec;
  tv->tv_usec = ts.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *at) {
  struct timespec ts;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts);
  move(&ts);
  if (at) *at = ts.tv_sec;
  return ts.tv_sec;
}
`

/** The clock of one server. */
export interface Clock {
  /** For the server's environment; null where the clock can't be moved. */
  readonly env: Readonly<Record<string, string>> | null
  readonly lacks: Readonly<Partial<Record<NemesisName, string>>>
  /** Moves it by so many milliseconds from the true time; 0 sets it right. */
  set(offsetMs: number): Promise<void>
}

/** Compiles the library once and makes a clock for each server that asks. */
export class Clocks {
  readonly #own: Folder | null
  readonly #folder: string
  #library: string | null = null
  #problem: string | null = null

  /** In somebody else's folder, which goes with the servers; default: one of its own, until `close()`. */
  constructor(folder?: string) {
    this.#own = folder === undefined ? temporaryFolder('clock') : null
    this.#folder = folder ?? this.#own?.path ?? ''
  }

  async make(name: string): Promise<Clock> {
    await this.#build()
    if (this.#library === null) return unmoved(this.#problem ?? 'the clock can not be moved')
    const file = join(this.#folder, `${name}.offset`)
    await writeFile(file, Buffer.alloc(8), { mode: 0o644 })
    return {
      env: { LD_PRELOAD: this.#library, HOLDFAST_CLOCK: file },
      lacks: {},
      async set(offsetMs) {
        const bytes = Buffer.alloc(8)
        bytes.writeBigInt64LE(BigInt(Math.round(offsetMs)) * 1_000_000n)
        // In place: the server has mapped this very file.
        const handle = await open(file, 'r+')
        try {
          await handle.write(bytes, 0, 8, 0)
        } finally {
          await handle.close()
        }
      },
    }
  }

  close(): Promise<void> {
    return Promise.resolve(this.#own?.remove())
  }

  async #build(): Promise<void> {
    if (this.#library !== null || this.#problem !== null) return
    // Servers that refuse root run as another user, and must read what is in here.
    if (this.#own !== null) await chmod(this.#folder, 0o755)
    const library = join(this.#folder, 'clock.so')
    await writeFile(join(this.#folder, 'clock.c'), SOURCE)
    try {
      await promisify(execFile)('cc', ['-shared', '-fPIC', '-O1', '-o', library, join(this.#folder, 'clock.c')])
      this.#library = library
    } catch (error) {
      const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      this.#problem = missing ? 'there is no C compiler (cc)' : 'the C compiler failed'
    }
  }
}

export function unmoved(why: string): Clock {
  return {
    env: null,
    lacks: { 'clock-forward': why, 'clock-back': why },
    set: () => Promise.resolve(),
  }
}

/** A step of the server's wall clock lapses holds early or late: the stores that go by it say so. */
export function clockDeeds(clock: Clock, target: string, forgets = true): Partial<Record<NemesisName, Deed>> {
  if (clock.env === null) return {}
  const deed = (sign: 1 | -1): Deed => ({
    forgets,
    aim: (random, ttlMs) =>
      Promise.resolve({
        target,
        lastsMs: ttlMs * (0.5 + random.next()),
        // After a step back leases last longer by as much; after a step forward those that were given meanwhile end
        // late.
        graceMs: ttlMs * 4,
        strike: () => clock.set(sign * ttlMs * (1.5 + random.next() * 2)),
        heal: () => clock.set(0),
      }),
  })
  return { 'clock-forward': deed(1), 'clock-back': deed(-1) }
}
