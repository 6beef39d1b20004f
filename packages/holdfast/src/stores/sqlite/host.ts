/** This host and this process, as places in the file name them: which boot, which pid namespace, which clock. */
import { readFileSync, readlinkSync } from 'node:fs'
import { UnsupportedError } from '../../contract/errors.ts'

/** For hosts without /proc, where nothing tells one run of the kernel from the next. */
export const UNKNOWN_BOOT = 'unknown'

export interface Host {
  /** Which run of the kernel: times and pids of another run mean nothing. 'unknown' if there is no /proc. */
  readonly boot: string
  /** Whose pids can be judged from here: pid and time namespace. null: nobody's. */
  readonly world: string | null
  readonly pid: number
  /** When this process was started, in ticks, as /proc tells it; null if that is unknown. */
  readonly start: string | null
  /** Microseconds on the clock that all processes of this host share; it never steps. */
  now(): number
}

/** Reads a file of /proc; null if it does not exist, or may not be read. */
export function readProc(path: string, read: (path: string) => string = (p) => readFileSync(p, 'utf8')): string | null {
  try {
    return read(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EPERM' || code === 'ESRCH' || code === 'ENOTDIR')
      return null
    throw error
  }
}

const link = (path: string): string | null => readProc(path, (p) => readlinkSync(p))

/** State and start time of a process by its line in /proc/<pid>/stat; the name in it may contain anything, even ')'. */
export interface ProcessStat {
  readonly state: string
  readonly group: number
  readonly threads: number
  readonly start: string
}

export function readStat(pid: number | 'self'): ProcessStat | null {
  const text = readProc(`/proc/${pid}/stat`)
  if (text === null) return null
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, group, threads, start] = [fields[0], fields[2], fields[17], fields[19]]
  if (state === undefined || start === undefined) return null
  return { state, group: Number(group), threads: Number(threads), start }
}

/**
 * How far the monotonic clock of this time namespace is ahead of the host's, in microseconds. A container may have a
 * time namespace of its own: without this its places would look lapsed, or everlasting, to other processes.
 */
function clockShiftUs(): number {
  const offsets = readProc('/proc/self/timens_offsets')
  const match = offsets === null ? null : /^monotonic\s+(-?\d+)\s+(-?\d+)/m.exec(offsets)
  return match === null ? 0 : Number(match[1]) * 1e6 + Math.round(Number(match[2]) / 1e3)
}

/**
 * The pid namespace is usable if the mounted /proc shows it: NSpid then has one number. After `unshare --pid` without a
 * /proc of its own, /proc/<pid> is another process, and a live process would look dead.
 */
function readWorld(): string | null {
  const [pids, time] = [link('/proc/self/ns/pid'), link('/proc/self/ns/time')]
  const status = readProc('/proc/self/status')
  const own = status === null ? null : /^NSpid:\s*(\d+)$/m.exec(status)
  if (pids === null || own === null || Number(own[1]) !== process.pid) return null
  // Start times in /proc are shown in the reader's time namespace: they only compare within one.
  return `${pids} ${time ?? ''}`
}

/**
 * Every process of the host judges the leases in the file. If each process counted from its own start, a process that
 * was started earlier would take the lease of a later process for lapsed, and two would hold the lock.
 */
function checkClock(): void {
  const { bun, deno } = process.versions as Readonly<Record<string, string | undefined>>
  const runtime = bun === undefined ? deno && `Deno ${deno}` : `Bun ${bun}`
  if (runtime === undefined) return
  throw new UnsupportedError(
    `SQLite locks don't work on ${runtime}: its process.hrtime() begins anew in each process, and leases in ` +
      `the file need one clock for all. Run the processes with Node, or give Holdfast another store, such as redis:`,
  )
}

/** Throws an UnsupportedError on a runtime without a clock that its processes share. */
export function readHost(): Host {
  checkClock()
  const shiftUs = clockShiftUs()
  const world = readWorld()
  return {
    boot: readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? UNKNOWN_BOOT,
    world,
    pid: process.pid,
    start: world === null ? null : (readStat('self')?.start ?? null),
    now: () => {
      const [seconds, nanos] = process.hrtime()
      return seconds * 1e6 + Math.floor(nanos / 1e3) - shiftUs
    },
  }
}
