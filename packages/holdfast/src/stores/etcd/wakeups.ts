/**
 * Which change wakes which waiter. Watched are a waiter's own key and the places that keep it out, each key once
 * however many wait for it, from the revision of the look that named it. So the watch also tells what has happened
 * since the look.
 */
import type { Stop, Wake } from '../../contract/driver.ts'
import { EtcdCompactedError, type EtcdClient, type Watcher } from '../../clients/etcd/index.ts'
import type { LineKeys } from './keys.ts'
import { LastingWatch } from './lasting-watch.ts'
import type { Sight } from './look.ts'

interface WatchedKey {
  readonly ids: Set<string>
  readonly watchers: Watcher[]
  /** The revision of the look, if one of the waiting places is next. */
  nextSince: bigint | null
}

export class Wakeups {
  readonly #client: EtcdClient
  readonly #wakes = new Map<string, Wake>()
  /** Which keys each id watches. */
  readonly #keysOf = new Map<string, Set<string>>()
  readonly #wakeups = new Map<string, WatchedKey>()

  constructor(client: EtcdClient) {
    this.#client = client
  }

  /** How many keys are watched. */
  get size(): number {
    return this.#wakeups.size
  }

  add(id: string, wake: Wake): Stop {
    this.#wakes.set(id, wake)
    return () => {
      this.#wakes.delete(id)
      this.drop(id)
    }
  }

  wake(id: string): void {
    this.#wakes.get(id)?.()
  }

  /** From now on its own key wakes the id, and so do the places that keep it out, as the look says. */
  await(id: string, ownKey: string, { blockers, isNext, revision }: Sight): void {
    this.#watch(id, ownKey, blockers, revision, isNext ? revision : null)
  }

  /** Whether anything was ever watched for this id. */
  watches(id: string): boolean {
    return this.#keysOf.has(id)
  }

  /** Its own key wakes the id, from this revision on. */
  guard(id: string, ownKey: string, startRevision: bigint): void {
    if (!this.#wakes.has(id)) return
    this.#keysOf.set(id, new Set([ownKey]))
    this.#join(ownKey, id, [startRevision], null)
  }

  /** Keeps only the watch on the id's own key: the place is granted, and those ahead do not matter any more. */
  narrow(id: string, ownKey: string, revision: bigint): void {
    if (this.#keysOf.has(id)) this.#watch(id, ownKey, [], revision, null)
  }

  drop(id: string): void {
    const keys = this.#keysOf.get(id)
    this.#keysOf.delete(id)
    for (const key of keys ?? []) this.#unwatch(key, id)
  }

  #watch(id: string, ownKey: string, blockers: readonly string[], revision: bigint, nextSince: bigint | null): void {
    if (!this.#wakes.has(id)) return
    const before = this.#keysOf.get(id)
    const wanted = new Set([ownKey, ...blockers])
    this.#keysOf.set(id, wanted)
    for (const key of wanted) {
      if (before?.has(key)) continue
      // If its own key went a moment ago, the next look tells that, too. So for that key it is enough to watch from now
      // on.
      if (key === ownKey) this.#join(key, id, [0n], null)
      else this.#join(key, id, [revision + 1n, 0n], nextSince)
    }
    for (const key of before ?? []) if (!wanted.has(key)) this.#unwatch(key, id)
  }

  /** Wakes on every change in the line, until stopped. In force once fulfilled. */
  async observe(line: LineKeys, wake: Wake): Promise<Stop> {
    const lookout = new LastingWatch(this.#client, line.start, line.end, () => wake())
    await lookout.open()
    return () => lookout.close()
  }

  #join(key: string, id: string, startRevisions: readonly bigint[], nextSince: bigint | null): void {
    const known = this.#wakeups.get(key)
    // The key has been watched since an earlier revision, and no event had said that what the look saw was gone.
    if (known !== undefined) {
      known.ids.add(id)
      return
    }
    const watchedKey: WatchedKey = { ids: new Set([id]), watchers: [], nextSince }
    this.#wakeups.set(key, watchedKey)
    const observer = {
      onEvents: () => this.#stir(key, watchedKey),
      onEnd: (error: Error) => this.#ended(key, watchedKey, error),
    }
    // One watch from the look on, so that nothing is missed. If the store has moved on since, etcd serves that watch
    // from history, which it looks through ten times a second. The other watch from now on, which is told at once.
    for (const startRevision of startRevisions) {
      this.#client.watch(Buffer.from(key), { startRevision }, observer).then(
        (watcher) => this.#opened(key, watchedKey, watcher),
        (error: unknown) => this.#ended(key, watchedKey, error),
      )
    }
  }

  #opened(key: string, watchedKey: WatchedKey, watcher: Watcher): void {
    watchedKey.watchers.push(watcher)
    if (this.#wakeups.get(key) !== watchedKey) return watcher.cancel()
    // A hand-over between look and watch would be told from history, and so late. So the place that is next looks
    // again.
    const { nextSince } = watchedKey
    if (nextSince === null || watcher.nextRevision <= nextSince + 1n) return
    watchedKey.nextSince = null
    for (const id of watchedKey.ids) this.wake(id)
  }

  #unwatch(key: string, id: string): void {
    const watchedKey = this.#wakeups.get(key)
    if (watchedKey === undefined || !watchedKey.ids.delete(id) || watchedKey.ids.size > 0) return
    this.#end(key, watchedKey)
  }

  #end(key: string, watchedKey: WatchedKey): void {
    if (this.#wakeups.get(key) === watchedKey) this.#wakeups.delete(key)
    for (const id of watchedKey.ids) this.#keysOf.get(id)?.delete(key)
    for (const watcher of watchedKey.watchers) watcher.cancel()
  }

  /** The key went, or a break has written it anew. Its waiters look, and name what to watch next. */
  #stir(key: string, watchedKey: WatchedKey): void {
    const ids = [...watchedKey.ids]
    this.#end(key, watchedKey)
    for (const id of ids) this.wake(id)
  }

  /**
   * No more events will come. After a compaction a look tells what was missed. After a refusal or a time-out an
   * immediate look could end the same way, again and again; so the next heartbeat looks.
   */
  #ended(key: string, watchedKey: WatchedKey, error: unknown): void {
    if (error instanceof EtcdCompactedError) this.#stir(key, watchedKey)
    else this.#end(key, watchedKey)
  }
}
