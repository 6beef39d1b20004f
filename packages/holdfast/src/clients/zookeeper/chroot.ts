/** The subtree that a client can't leave: what a caller calls `/x` is `/chroot/x` at the server. */
import { UsageError } from '../../contract/errors.ts'

// The characters ZooKeeper itself refuses, judged by UTF-16 unit as its server does: control characters, surrogates
// and private use, and the specials at the end of the plane.
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/
const EMPTY_OR_DOTS = /\/(?:\.{0,2})(?:\/|$)/

function assertPath(path: string, what: string): void {
  if (typeof path !== 'string' || path[0] !== '/') {
    throw new UsageError(`${what} must start with '/', given was ${JSON.stringify(path)}`)
  }
  if (path.length > 1 && EMPTY_OR_DOTS.test(path)) {
    throw new UsageError(`${what} must not have empty, '.' or '..' segments, given was ${JSON.stringify(path)}`)
  }
  if (FORBIDDEN.test(path)) {
    throw new UsageError(`${what} holds a character that ZooKeeper refuses, given was ${JSON.stringify(path)}`)
  }
}

export class Chroot {
  /** '' for the whole tree, else an absolute path without a slash at its end. */
  readonly prefix: string

  constructor(path: string = '/') {
    assertPath(path, 'chroot')
    this.prefix = path === '/' ? '' : path
  }

  /** The server's name for a caller's path; a sequential node may be named by its number alone (`/queue/`). */
  absolute(path: string, sequential = false): string {
    assertPath(sequential && path.endsWith('/') ? `${path}0` : path, 'a path')
    return path === '/' && this.prefix !== '' && !sequential ? this.prefix : this.prefix + path
  }

  /** The caller's name for a server's path. */
  relative(absolute: string): string {
    if (this.prefix === '') return absolute
    if (absolute === this.prefix) return '/'
    return absolute.startsWith(`${this.prefix}/`) ? absolute.slice(this.prefix.length) : absolute
  }

  /** The nodes of the prefix, outermost first. */
  ancestors(): string[] {
    const names = this.prefix.split('/').slice(1)
    return names.map((_, i) => `/${names.slice(0, i + 1).join('/')}`)
  }
}
