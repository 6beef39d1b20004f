/** Access control lists: who may do what to a node. */
import { createHash } from 'node:crypto'

/** Permission bits, to be joined with `|`. */
export const Perm = { read: 1, write: 2, create: 4, delete: 8, admin: 16, all: 31 } as const

/** One rule: these permissions for this identity. */
export interface Acl {
  readonly perms: number
  readonly scheme: string
  readonly id: string
}

/** Everybody may do everything: the default of create. */
export const openAcl: readonly Acl[] = Object.freeze([
  Object.freeze({ perms: Perm.all, scheme: 'world', id: 'anyone' }),
])

/** Only the identities that this session has given with auth, all permissions. */
export const creatorAllAcl: readonly Acl[] = Object.freeze([Object.freeze({ perms: Perm.all, scheme: 'auth', id: '' })])

/** A rule for a digest user, who need not be this session's. The password leaves this process only as a hash. */
export function digestAcl(user: string, password: string, perms: number = Perm.all): Acl {
  const hash = createHash('sha1').update(`${user}:${password}`).digest('base64')
  return { perms, scheme: 'digest', id: `${user}:${hash}` }
}
