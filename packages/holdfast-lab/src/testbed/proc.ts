/** The process table, as far as the testbed needs it: who lives, since when, and who descends from whom. */
import { readdirSync, readFileSync } from 'node:fs'
import { isErrno } from './errno.ts'

export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  /** Ticks between boot and start. Pid and start together name one process for ever; a pid alone is given out again. */
  readonly start: string
}

/** The live process with this pid; null if there is none, or only a zombie. */
export function processEntry(pid: number): ProcessEntry | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH')) return null
    throw error
  }
}

/**
 * The second field is the program's name in parentheses and may itself hold spaces and parentheses: count from the last
 * one.
 */
export function parseStat(stat: string): ProcessEntry | null {
  const close = stat.lastIndexOf(')')
  const [state, parent, ...rest] = stat.slice(close + 2).split(' ')
  if (state === undefined || state === 'Z' || state === 'X') return null
  return { pid: Number.parseInt(stat, 10), parent: Number(parent), start: rest[17] ?? '' }
}

/** Whether every thread of this process is stopped; also if it is gone. */
export function isStopped(pid: number): boolean {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return threads.every((id) => /\) [TtZX] [^)]*$/.test(readFileSync(`/proc/${pid}/task/${id}/stat`, 'utf8')))
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH')) return processEntry(pid) === null
    throw error
  }
}

/** All live descendants of a process, nearest first. */
export function descendants(pid: number): ProcessEntry[] {
  const children = new Map<number, ProcessEntry[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const entry = processEntry(Number(name))
    if (entry === null) continue
    const siblings = children.get(entry.parent)
    if (siblings === undefined) children.set(entry.parent, [entry])
    else siblings.push(entry)
  }
  const found: ProcessEntry[] = []
  const pending = [pid]
  for (let parent = pending.shift(); parent !== undefined; parent = pending.shift()) {
    for (const child of children.get(parent) ?? []) {
      found.push(child)
      pending.push(child.pid)
    }
  }
  return found
}

/** Sends a signal to exactly that process; false if it is gone, or if its pid belongs to another one now. */
export function signalProcess(target: ProcessEntry, signal: NodeJS.Signals): boolean {
  if (!isAlive(target)) return false
  try {
    return process.kill(target.pid, signal)
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false
    throw error
  }
}

export function isAlive(target: ProcessEntry): boolean {
  return processEntry(target.pid)?.start === target.start
}
