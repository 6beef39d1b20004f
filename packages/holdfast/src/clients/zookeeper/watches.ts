/**
 * The watches that a session has armed: whom to call for an event, what to arm again after a reconnect, and whom to
 * tell that a watch is gone.
 */
import type { Chroot } from './chroot.ts'
import { JuteWriter } from './jute.ts'
import { Op, Xid } from './protocol.ts'

/**
 * `lost`: the session ended or the watch could not be armed again; it will not fire any more, so look again. `gap`: a
 * persistent watch was armed again after a reconnect; what happened in between was not reported, so look again.
 */
export type WatchEventType = 'created' | 'deleted' | 'dataChanged' | 'childrenChanged' | 'lost' | 'gap'

export interface WatchEvent {
  readonly type: WatchEventType
  readonly path: string
}

/** Called once for a one-shot watch. Events are hints: never a proof of what is there now. */
export type WatchCallback = (event: WatchEvent) => void

export type WatchKind = 'data' | 'exist' | 'child' | 'persistent' | 'recursive'

const KINDS: readonly WatchKind[] = ['data', 'exist', 'child', 'persistent', 'recursive']
const EVENT_TYPES: ReadonlyMap<number, WatchEventType> = new Map([
  [1, 'created'],
  [2, 'deleted'],
  [3, 'dataChanged'],
  [4, 'childrenChanged'],
])
const ONE_SHOT: Readonly<Partial<Record<WatchEventType, readonly WatchKind[]>>> = {
  created: ['data', 'exist'],
  dataChanged: ['data', 'exist'],
  deleted: ['data', 'exist', 'child'],
  childrenChanged: ['child'],
}
// A server refuses frames past 1 MB and cuts the link, and then a session with that many watches would never come back.
// So watches are sent in portions.
const PORTION_BYTES = 128 * 1_024

type Told = [WatchCallback, WatchEvent]

/** One frame that arms watches again, and what it arms. */
export interface Rearming {
  readonly frame: Buffer
  readonly entries: readonly (readonly [WatchKind, string])[]
}

export class Watches {
  readonly #chroot: Chroot
  readonly #byKind: Readonly<Record<WatchKind, Map<string, Set<WatchCallback>>>> = {
    data: new Map(),
    exist: new Map(),
    child: new Map(),
    persistent: new Map(),
    recursive: new Map(),
  }

  constructor(chroot: Chroot) {
    this.#chroot = chroot
  }

  arm(kind: WatchKind, path: string, callback: WatchCallback): void {
    const paths = this.#byKind[kind]
    const callbacks = paths.get(path)
    if (callbacks === undefined) paths.set(path, new Set([callback]))
    else callbacks.add(callback)
  }

  /** Forgets one callback. The server's side stays armed, and its event finds no callback. */
  forget(path: string, callback: WatchCallback): boolean {
    let found = false
    for (const kind of KINDS) {
      const callbacks = this.#byKind[kind].get(path)
      if (callbacks === undefined || !callbacks.delete(callback)) continue
      found = true
      if (callbacks.size === 0) this.#byKind[kind].delete(path)
    }
    return found
  }

  /** Forgets every watch at the path, without a call. */
  forgetPath(path: string): void {
    for (const kind of KINDS) this.#byKind[kind].delete(path)
  }

  forgetAll(): void {
    for (const kind of KINDS) this.#byKind[kind].clear()
  }

  /** Whom to call for an event from the server. One-shot watches are removed. */
  fire(eventType: number, absolute: string): Told[] {
    const type = EVENT_TYPES.get(eventType)
    if (type === undefined) return []
    const event: WatchEvent = { type, path: this.#chroot.relative(absolute) }
    const callbacks = new Set<WatchCallback>()
    for (const kind of ONE_SHOT[type] ?? []) {
      for (const callback of this.#byKind[kind].get(event.path) ?? []) callbacks.add(callback)
      this.#byKind[kind].delete(event.path)
    }
    for (const callback of this.#byKind.persistent.get(event.path) ?? []) callbacks.add(callback)
    // A recursive watch gets events of the nodes themselves; an event about their parents' children says nothing more.
    if (type !== 'childrenChanged') for (const callback of this.#above(event.path)) callbacks.add(callback)
    return Array.from(callbacks, (callback) => [callback, event])
  }

  /** All watches are gone: whom to tell. */
  loseAll(): Told[] {
    return this.lose(this.#entries())
  }

  lose(entries: readonly (readonly [WatchKind, string])[]): Told[] {
    const told: Told[] = []
    for (const [kind, path] of entries) {
      for (const callback of this.#byKind[kind].get(path) ?? []) told.push([callback, { type: 'lost', path }])
      this.#byKind[kind].delete(path)
    }
    return told
  }

  /** Whom to tell that a persistent watch is armed again but may have missed something. */
  gaps(entries: readonly (readonly [WatchKind, string])[]): Told[] {
    const told: Told[] = []
    for (const [kind, path] of entries) {
      if (kind !== 'persistent' && kind !== 'recursive') continue
      for (const callback of this.#byKind[kind].get(path) ?? []) told.push([callback, { type: 'gap', path }])
    }
    return told
  }

  /** The frames that arm everything on a new connection; the server itself tells what has changed since `lastZxid`. */
  rearm(lastZxid: bigint): Rearming[] {
    const portions: [WatchKind, string][][] = []
    let room = 0
    for (const entry of this.#entries()) {
      const bytes = 4 + (this.#chroot.prefix.length + entry[1].length) * 3
      if (bytes > room) {
        portions.push([])
        room = PORTION_BYTES
      }
      room -= bytes
      portions.at(-1)?.push(entry)
    }
    return portions.map((entries) => ({ frame: this.#rearmFrame(lastZxid, entries), entries }))
  }

  #rearmFrame(lastZxid: bigint, entries: readonly (readonly [WatchKind, string])[]): Buffer {
    const paths = (kind: WatchKind): string[] =>
      entries.filter((entry) => entry[0] === kind).map((entry) => this.#chroot.absolute(entry[1]))
    const [persistent, recursive] = [paths('persistent'), paths('recursive')]
    // Servers before 3.6 don't know the second form, and no persistent watch can have been armed there either.
    const extended = persistent.length + recursive.length > 0
    const writer = new JuteWriter()
      .int(Xid.setWatches)
      .int(extended ? Op.setWatches2 : Op.setWatches)
      .long(lastZxid)
      .ustrings(paths('data'))
      .ustrings(paths('exist'))
      .ustrings(paths('child'))
    if (extended) writer.ustrings(persistent).ustrings(recursive)
    return writer.take()
  }

  #entries(): [WatchKind, string][] {
    return KINDS.flatMap((kind) => Array.from(this.#byKind[kind].keys(), (path): [WatchKind, string] => [kind, path]))
  }

  #above(path: string): WatchCallback[] {
    const recursive = this.#byKind.recursive
    if (recursive.size === 0) return []
    const callbacks: WatchCallback[] = [...(recursive.get('/') ?? [])]
    for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) {
      callbacks.push(...(recursive.get(path.slice(0, end)) ?? []))
    }
    return path === '/' ? callbacks : [...callbacks, ...(recursive.get(path) ?? [])]
  }
}
