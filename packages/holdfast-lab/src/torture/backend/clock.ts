/** Moves the wall clock of one program: a server of ours, or a client. */
import { chmod } from 'node:fs/promises'
import { type Folder, temporaryFolder } from '../folder.ts'
import { anHour } from '../hour.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Random } from '../random.ts'
import type { Deed } from './backend.ts'
import { Shim } from './shim.ts'

/**
 * Only the wall clock is moved, by raw system calls (libfaketime hangs Redis), and the monotonic clock stays what it
 * is. The number is nanoseconds from the true time.
 *
 * The kernel does not know that the clock was moved: a program that waits until a moment by its own clock (as MariaDB
 * does everywhere) would not wait at all after a step back, and InnoDB, which counts such waits as seconds, would end
 * itself after 600 of them. So the moment is told as the kernel's clock shows it. In glibc, bit 1 of `__wrefs` says
 * that a condition goes by the monotonic clock.
 */
const SOURCE = `
#include <pthread.h>
static void move(struct timespec *ts) {
  int64_t ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + *dial;
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
#ifdef __GLIBC__
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
  if (cond->__data.__wrefs & 2) return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, until);
  struct timespec kernels = *until;
  int64_t ahead = *dial;
  kernels.tv_sec -= ahead / 1000000000;
  kernels.tv_nsec -= ahead % 1000000000;
  if (kernels.tv_nsec < 0) kernels.tv_sec--, kernels.tv_nsec += 1000000000;
  if (kernels.tv_nsec >= 1000000000) kernels.tv_sec++, kernels.tv_nsec -= 1000000000;
  return pthread_cond_clockwait(cond, mutex, CLOCK_REALTIME, &kernels);
}
#endif
`

/** The clock of one program. */
export interface Clock {
  /** For the program's environment; null where the clock can't be moved. */
  readonly env: Readonly<Record<string, string>> | null
  readonly lacks: Readonly<Partial<Record<NemesisName, string>>>
  /** Moves it by so many milliseconds from the true time; 0 sets it right. */
  set(offsetMs: number): Promise<void>
}

/** Compiles the library once and makes a clock for each program that asks. */
export class Clocks {
  readonly #own: Folder | null
  readonly #folder: string
  #shim: Shim | null = null

  /** In somebody else's folder, which goes with the servers; default: one of its own, until `close()`. */
  constructor(folder?: string) {
    this.#own = folder === undefined ? temporaryFolder('clock') : null
    this.#folder = folder ?? this.#own?.path ?? ''
  }

  async make(name: string): Promise<Clock> {
    // Servers that refuse root run as another user, and must read what is in here.
    if (this.#own !== null) await chmod(this.#folder, 0o755)
    this.#shim ??= await Shim.build(this.#folder, 'clock', SOURCE)
    if (this.#shim.problem !== null) return unmoved(this.#shim.problem)
    const dial = await this.#shim.dial(name)
    return {
      env: dial.env,
      lacks: {},
      set: (offsetMs) => dial.set(BigInt(Math.round(offsetMs)) * 1_000_000n),
    }
  }

  close(): Promise<void> {
    return Promise.resolve(this.#own?.remove())
  }
}

export function unmoved(why: string): Clock {
  return {
    env: null,
    lacks: { 'clock-forward': why, 'clock-back': why, 'clock-hour': why },
    set: () => Promise.resolve(),
  }
}

/** A step of the server's wall clock lapses holds early or late: the stores that go by it say so. */
export function clockDeeds(clock: Clock, target: string, forgets = true): Partial<Record<NemesisName, Deed>> {
  if (clock.env === null) return {}
  const deed = (offsetMs: (random: Random, ttlMs: number) => number): Deed => ({
    forgets,
    aim: (random, ttlMs) =>
      Promise.resolve({
        target,
        lastsMs: ttlMs * (0.5 + random.next()),
        // After a step back leases last longer by as much; after a step forward those that were given meanwhile end
        // late.
        graceMs: ttlMs * 4,
        strike: () => clock.set(offsetMs(random, ttlMs)),
        heal: () => clock.set(0),
      }),
  })
  const some = (random: Random, ttlMs: number): number => ttlMs * (1.5 + random.next() * 2)
  return { 'clock-forward': deed(some), 'clock-back': deed((...o) => -some(...o)), 'clock-hour': deed(anHour) }
}
