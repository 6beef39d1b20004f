/** The commands of `holdfast`. A new command is an entry here: --help, "did you mean" and shells read this table. */
import type { Commands } from './command.ts'
import { commandOf } from './other-packages.ts'

export const COMMANDS: Commands = {
  run: {
    usage: 'NAME -- program …',
    says: 'runs a program while holding a lock',
    load: () => import('./run.ts'),
  },
  elect: {
    usage: 'NAME -- program …',
    says: 'runs a program while leading, again after each loss',
    load: () => import('./elect.ts'),
  },
  once: {
    usage: 'NAME -- program …',
    says: 'runs a program once per period, on one machine',
    load: () => import('./once.ts'),
  },
  ls: { usage: '[PREFIX]', says: 'lists locks with their holders and waiters', load: () => import('./ls.ts') },
  top: { usage: '[PREFIX]', says: 'watches the locks, live', load: () => import('./top.ts') },
  show: { usage: 'NAME', says: 'shows the holders and the waiters of a lock', load: () => import('./show.ts') },
  why: { usage: 'NAME', says: 'says why a lock is not free', load: () => import('./why.ts') },
  deadlocks: {
    usage: '',
    says: 'finds processes that wait for each other in a circle',
    load: () => import('./deadlocks.ts'),
  },
  break: { usage: 'NAME', says: 'force-releases a lock', load: () => import('./break.ts') },
  ui: { usage: '', says: 'shows the locks on a live page', load: () => commandOf('holdfast-console', 'ui') },
  limit: {
    usage: 'NAME --rate 10/1s',
    says: 'takes from a rate limit, and maybe runs a program',
    load: () => import('./limit.ts'),
  },
  id: { usage: '', says: 'makes an id that no other process makes', load: () => import('./id.ts') },
  doctor: { usage: '', says: 'says what is dangerous for locks about a store', load: () => import('./doctor.ts') },
  migrate: {
    usage: '',
    says: 'makes the tables on PostgreSQL, MySQL and MariaDB',
    load: () => import('./migrate.ts'),
  },
  redlock: {
    usage: 'init|resize',
    says: 'starts a Redlock deployment, changes its servers',
    load: () => import('./redlock.ts'),
  },
  torture: {
    usage: '--spawn KIND',
    says: 'puts locks through harsh conditions, and judges',
    load: () => commandOf('holdfast-lab', 'torture'),
  },
  lab: { usage: '[NAME]', says: 'shows how well-known locks break', load: () => commandOf('holdfast-lab', 'lab') },
  completion: {
    usage: 'bash|zsh|fish',
    says: 'prints what lets a shell complete commands',
    load: () => import('./completion.ts'),
  },
}
