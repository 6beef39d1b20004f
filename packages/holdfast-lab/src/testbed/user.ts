/** The user for a server that refuses to run as root. */
import { chown, readFile } from 'node:fs/promises'
import { TestbedError } from './error.ts'

export interface User {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** The first of these users that exists; null if we are not root, since then we can be no one else. */
export async function otherUser(...names: readonly string[]): Promise<User | null> {
  if (process.getuid?.() !== 0) return null
  const users = new Map<string, User>()
  for (const line of (await readFile('/etc/passwd', 'utf8')).split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (name !== undefined && uid !== undefined) users.set(name, { name, uid: Number(uid), gid: Number(gid) })
  }
  for (const name of names) {
    const user = users.get(name)
    if (user !== undefined) return user
  }
  throw new TestbedError(`a server that refuses root needs one of these users, none exists: ${names.join(', ')}`)
}

/** Gives a folder to the user; nothing to do for null. */
export async function give(path: string, user: User | null): Promise<void> {
  if (user !== null) await chown(path, user.uid, user.gid)
}
