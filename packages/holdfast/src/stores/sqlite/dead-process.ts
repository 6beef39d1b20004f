/** Whether a process is provably dead. In doubt it lives, and its places end by their ttl. */
import { readdirSync } from 'node:fs'
import { type Host, type ProcessStat, readStat } from './host.ts'

/** The largest number that `kill` accepts; no kernel gives out larger ones. */
const PID_MAX = 2 ** 31 - 1

/** A process in the file. */
export interface Mortal {
  readonly key: number
  readonly world: string | null
  readonly pid: number
  readonly start: string | null
  /** True: it leads a process group, and counts as alive while any member lives. */
  readonly isGroup: boolean
  /** The name of its socket in the wake-up folder; '' if it has none. */
  readonly socket: string
}

export function isDead(who: Mortal, host: Host): boolean {
  // From another pid namespace a live process looks dead, or like another process.
  if (host.world === null || who.world !== host.world) return false
  // Another user may have written the row: a number that no kernel gives out can't be checked.
  if (!Number.isInteger(who.pid) || who.pid < 1 || who.pid > PID_MAX) return false
  const stat = exists(who.pid) ? readStat(who.pid) : undefined
  if (stat === null) return false
  if (stat !== undefined) {
    if (who.start === null) return false
    // The number is in use again, so nothing of the old process, nor of its group, is left.
    if (stat.start !== who.start) return true
    if (!isZombie(stat)) return false
  }
  return !(who.isGroup && groupLives(who.pid))
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ESRCH') return false
    if (code === 'EPERM') return true
    throw error
  }
}

/**
 * A zombie: killed, and its parent has not waited for it yet. A leader whose other threads still run also shows as Z.
 */
function isZombie(stat: ProcessStat): boolean {
  return (stat.state === 'Z' || stat.state === 'X') && stat.threads <= 1
}

/**
 * The signal finds zombies as well, which a container without an init keeps for ever. Only a look at each member tells.
 */
function groupLives(group: number): boolean {
  if (!exists(-group)) return false
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false
    const stat = readStat(Number(name))
    return stat !== null && stat.group === group && !isZombie(stat)
  })
}
