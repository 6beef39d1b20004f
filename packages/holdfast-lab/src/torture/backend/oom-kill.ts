/**
 * A server and a neighbour who takes all memory, in one group with a limit: the kernel kills a process of the server,
 * the largest. Of a server of several processes that is one of them, and the others must notice.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isErrno } from '../../testbed/errno.ts'
import { descendants, isAlive, type ProcessEntry, processEntry, signalProcess } from '../../testbed/proc.ts'
import type { Server } from '../../testbed/server.ts'
import type { Deed } from './backend.ts'
import type { Pick } from './deeds.ts'
import { supervise } from './disk-full.ts'

const LIMIT_BYTES = 48 << 20
/** The neighbour takes more than the limit, writes to it and keeps it. */
const GREED = ['-c', 'echo $$ > "$1/cgroup.procs"; exec dd if=/dev/zero of=/dev/null bs=200M']
const KILLED_MS = 10_000

/** Why it can't be done here; null: it can. */
export async function oomProblem(): Promise<string | null> {
  try {
    await rmdir(await makeGroup('probe'))
    return null
  } catch (error) {
    if (error instanceof Error && 'errno' in error)
      return 'groups of processes with a limit (cgroup) can not be made here'
    throw error
  }
}

/** A group of its own, in the hierarchy of memory where that stands apart, else in the one that unites all. */
async function makeGroup(name: string): Promise<string> {
  const apart = '/sys/fs/cgroup/memory'
  const isApart = existsSync(join(apart, 'memory.limit_in_bytes'))
  const folder = join(isApart ? apart : '/sys/fs/cgroup', `holdfast-${process.pid}-${name}`)
  await mkdir(folder)
  try {
    await writeFile(join(folder, isApart ? 'memory.limit_in_bytes' : 'memory.max'), String(LIMIT_BYTES))
    return folder
  } catch (error) {
    await rmdir(folder)
    throw error
  }
}

export function oomKill(pick: Pick): Deed {
  return {
    forgets: false,
    aim: async (random, ttlMs) => {
      const server = await pick(random)
      let group: string | null = null
      let neighbour: ChildProcess | null = null
      let all: readonly ProcessEntry[] = []
      return {
        target: server.name,
        lastsMs: ttlMs * random.next(),
        strike: async () => {
          group = await makeGroup(server.name)
          all = family(server)
          for (const { pid } of all) await tell(join(group, 'cgroup.procs'), String(pid))
          // Prefer one of these to the neighbour, however small; but not the process that watches over the others.
          for (const { pid } of all.slice(all.length > 1 ? 1 : 0)) await tell(`/proc/${pid}/oom_score_adj`, '1000')
          neighbour = spawn('/bin/sh', [...GREED, 'sh', group], { stdio: 'ignore' })
          await anyGone(all)
        },
        heal: async () => {
          if (neighbour !== null && neighbour.exitCode === null && neighbour.signalCode === null) {
            neighbour.kill('SIGKILL')
            await once(neighbour, 'exit')
          }
          // If the first process of a server died, its other processes must end before the server starts again.
          if (!server.running) for (const each of all) if (isAlive(each)) signalProcess(each, 'SIGKILL')
          while (!server.running && all.some(isAlive)) await sleep(5)
          await supervise(server)
          if (group !== null) await leave(group)
        },
      }
    },
  }
}

function family(server: Server): readonly ProcessEntry[] {
  const first = processEntry(server.pid)
  return first === null ? [] : [first, ...descendants(first.pid)]
}

async function anyGone(all: readonly ProcessEntry[]): Promise<void> {
  const end = performance.now() + KILLED_MS
  while (all.every(isAlive)) {
    if (performance.now() > end) throw new Error('the kernel killed nobody')
    await sleep(5)
  }
}

/** For a process that may have ended meanwhile. */
async function tell(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ESRCH')) throw error
  }
}

/** Processes that are still in the group go back to the root group, without a limit. */
async function leave(folder: string): Promise<void> {
  const root = join(folder, '..', 'cgroup.procs')
  for (;;) {
    const left = (await readFile(join(folder, 'cgroup.procs'), 'utf8')).trim().split('\n').filter(Boolean)
    for (const pid of left) {
      await tell(root, pid)
    }
    if (left.length === 0) break
  }
  await rmdir(folder)
}
