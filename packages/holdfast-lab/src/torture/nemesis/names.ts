/** Everything that can be broken, by name, and what each of them needs. */

export const NEEDS = {
  'pause-holder': 'nothing: SIGSTOP to the process that is inside',
  'pause-client': 'nothing: SIGSTOP to any client process',
  'kill-holder': 'nothing: SIGKILL to the process that is inside',
  'kill-client': 'nothing: SIGKILL to any client process',
  'suspend-holder': 'nothing: SIGSTOP to the process that is inside, for many leases',
  'block-loop': 'nothing: the process that is inside computes for a while',
  break: 'nothing: a line is taken from those who are inside, who may go on until their leases have run out',
  'break-now': 'nothing: a line is taken from those who are inside, and others are served at once',
  partition: 'a store that clients reach through our proxy: the holder is cut off, silently',
  'partition-reset': 'a store that clients reach through our proxy: the holder is cut off by resets',
  'partition-one-way': 'a store that clients reach through our proxy: requests arrive, answers do not',
  unplug: 'root and iproute2: the holder has a network of its own, and its cable is pulled',
  latency: 'a store that clients reach through our proxy: everything is late',
  'pause-server': 'servers of our own: SIGSTOP',
  'kill-server': 'servers of our own that keep their data: SIGKILL, and a restart',
  'restart-empty': 'servers of our own that can lose their data',
  'restart-truncated': 'servers of our own with an append-only file: its tail is cut off, as by a loss of power',
  failover: 'servers of our own, several of them: the leading one is killed',
  'stop-leader': 'servers of our own of which one leads by vote: SIGSTOP for longer than the lease, then it goes on',
  lag: 'a primary with replicas of our own: replication is late when the primary is killed',
  'clock-forward': 'servers of our own whose clock can be moved, and a C compiler',
  'clock-back': 'servers of our own whose clock can be moved, and a C compiler',
  'clock-hour': 'servers of our own whose clock can be moved by an hour, and a C compiler',
  'client-clock': 'Linux and a C compiler: the wall clock of a client is moved by an hour',
  'disk-full': 'servers of our own, and root: nothing more can be written to the disk of one of them',
  'slow-disk': 'servers of our own that wait for their disk, and a C compiler: each fsync takes long',
  'oom-kill': 'servers of our own, and root: the kernel kills a process for want of memory',
  crowd: 'servers of our own: they are given 2 500 connections, as many as they take',
  'upgrade-server': 'servers of our own, and newer programs for them (--upgrade FILE): same data, another version',
  flush: 'a store that an operator can empty',
  'terminate-session': 'a store in which an administrator can end sessions',
  'replace-server': 'servers of our own that vote, and some to spare: an empty one takes the place of another',
  resize: 'servers of our own that vote, and some to spare: more are taken in, and let go again',
} as const

export type NemesisName = keyof typeof NEEDS

export const NEMESES: readonly NemesisName[] = Object.keys(NEEDS) as NemesisName[]

export function isNemesis(name: string): name is NemesisName {
  return Object.hasOwn(NEEDS, name)
}
