/** Planted faults: each is a patch to the real source, by name, that the simulation must find. */

export interface Mutant {
  readonly name: string
  readonly file: string
  /** Stands exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** The first seed that finds a fault which takes many. */
  readonly seed?: number
}

export const MUTANTS: Mutant[] = [
  {
    name: 'a lease is believed for longer than it lasts',
    file: 'packages/holdfast/src/contract/validity.ts',
    find: 'return Math.max(0, ttlMs - driftMs(ttlMs))',
    replace: 'return ttlMs * 1.5',
  },
  {
    name: 'validity is counted from the reply',
    seed: 4_011,
    file: 'packages/holdfast/src/acquire/lease.ts',
    find: 'this.sinceMonoMs = place.since.monoMs',
    replace: 'this.sinceMonoMs = place.since.monoMs + this.entry.ttlMs / 5',
  },
  {
    name: 'an answer read after its deadline is a grant',
    seed: 6_462,
    file: 'packages/holdfast/src/acquire/acquisition.ts',
    find: 'if (this.#core.heartbeat.leftMs(lease) <= 0 || this.#core.heartbeat.isDoubtful(lease)) {',
    replace: 'if (lease === null) {',
  },
  {
    name: 'a machine that slept believes its monotonic clock',
    file: 'packages/holdfast/src/acquire/heartbeat.ts',
    find: 'return this.#runtime.wallNow() >= lease.sinceWallMs + lease.term.usableMs',
    replace: 'return false',
  },
  {
    name: 'a push is believed whenever it comes',
    seed: 1_345,
    file: 'packages/holdfast/src/acquire/acquisition.ts',
    find: 'return this.#spec.ask.settings.renew && heartbeat.leftMs(lease) > 0 && !heartbeat.isDoubtful(lease)',
    replace: 'return true',
  },
  {
    name: 'a loss is not told without an answer of the store',
    seed: 557,
    file: 'packages/holdfast/src/acquire/heartbeat.ts',
    find: 'this.#expire(term.exposed, term)',
    replace: '',
  },
  {
    name: 'a failed renewal is not tried again',
    seed: 1_521,
    file: 'packages/holdfast/src/acquire/heartbeat.ts',
    find:
      'for (const lease of batch) {\n          lease.busy = false\n          lease.again = false\n          ' +
      'this.look(lease)\n        }',
    replace: '',
  },
  {
    name: 'renewals come too late',
    file: 'packages/holdfast/src/contract/validity.ts',
    find: 'return ttlMs / 3',
    replace: 'return ttlMs * 0.98',
  },
  {
    name: 'a waiter whose place lapsed is forgotten',
    file: 'packages/holdfast/src/acquire/acquisition.ts',
    find: 'if (!this.#ended && lease !== null) this.#startOver(lease)',
    replace: '',
  },
  {
    name: 'what was asked for is not given up with the wait',
    file: 'packages/holdfast/src/acquire/acquisition.ts',
    find: '    if (this.#firstSentAt !== 0) this.#core.cleanup.drop(lease)\n  }',
    replace: '  }',
  },
  {
    name: 'a failed leave is not repeated',
    seed: 3_259,
    file: 'packages/holdfast/src/acquire/cleanup.ts',
    find: '    wait()\n    return true',
    replace: '    return true',
  },
  {
    name: 'a lost reply is asked for again under a new id, and the old one stays',
    file: 'packages/holdfast/src/acquire/acquisition.ts',
    find: 'if (isFresh && lease.stop !== null) {\n      this.#later(() => this.#ask(lease))',
    replace: 'if (isFresh && lease.stop !== null) {\n      this.#later(() => this.start())',
  },
  {
    name: 'a hand-over inside the process does not raise the token',
    file: 'packages/holdfast/src/acquire/local-queue.ts',
    find: 'this.#issue(lease, hold.counter + 1, waiter)',
    replace: 'this.#issue(lease, hold.counter, waiter)',
  },
  {
    name: 'a kept lock is given again without a higher token',
    file: 'packages/holdfast/src/acquire/local-queue.ts',
    find: 'this.#issue(kept.lease, kept.counter + 1, waiter)',
    replace: 'this.#issue(kept.lease, kept.counter, waiter)',
  },
  {
    name: 'the waiters of a lost place are not put back in line',
    file: 'packages/holdfast/src/acquire/local-queue.ts',
    find:
      'if (this.#hold !== hold) return\n    this.#hold = null\n    if (this.count > 0) ' +
      'this.#start(true)\n    else this.#rest()',
    replace: 'if (this.#hold !== hold) return\n    this.#hold = null',
  },
  {
    name: 'children of one hold come in together',
    file: 'packages/holdfast/src/hold/reentry.ts',
    find: 'if (this.#nested === null) {',
    replace: 'if (this.#nested === null || waiter.wish.waitMs > 0) {',
  },
  {
    name: 'a task that outlives its hold takes itself for the holder',
    file: 'packages/holdfast/src/hold/reentry.ts',
    find:
      'if (context.#core !== core || !context.#open || !context.#reentrant) continue\n      if ' +
      '(context.#hold.spec.name === line && context.#hold.live) return context',
    replace: 'if (context.#core === core && context.#hold.spec.name === line) return context',
  },
  {
    name: 'leave with an unknown id frees whoever is first',
    file: 'packages/holdfast/src/stores/memory/store.ts',
    find: 'this.#tombstones.add(entry, now, true)\n      return',
    replace:
      'const first = this.#lines.get(entry.line)?.head\n      if (first) this.#remove(first)\n      if (first) ' +
      'this.#settle(first.line)\n      return',
  },
  {
    name: 'touch revives a lapsed place',
    file: 'packages/holdfast/src/stores/memory/store.ts',
    find:
      '    this.#purge(place.line, now)\n    return this.#places.get(entry.id) === place ? this.#renew(place, ' +
      'now) : null',
    replace: '    if (place.lapsesAt <= now) place.line.remove(place)\n    return this.#renew(place, now)',
  },
  {
    name: 'light places overtake heavy ones',
    file: 'packages/holdfast/src/stores/memory/line.ts',
    find: 'ahead += other.weight\n',
    replace: 'if (other.granted) ahead += other.weight\n',
  },
  {
    name: 'a lapsed place goes on blocking',
    file: 'packages/holdfast/src/stores/memory/store.ts',
    find: 'if (place.lapsesAt <= now) {',
    replace: 'if (place.lapsesAt <= now && place.granted) {',
  },
  {
    name: 'tokens are used twice',
    file: 'packages/holdfast/src/stores/memory/store.ts',
    find: 'return next > floor ? next : floor',
    replace: 'return floor / 20000n + 1n',
  },
  {
    name: 'an upgrade does not wait for readers that were granted behind it',
    file: 'packages/holdfast/src/stores/memory/line.ts',
    find: 'const till = isRaised ? raised.beside : place.token',
    replace: 'const till = place.token',
  },
  {
    name: 'who comes behind a raised place counts it as light as it was',
    file: 'packages/holdfast/src/stores/memory/line.ts',
    find: '0 : raised.weight - raised.place.weight',
    replace: '0 : 0 * raised.weight',
  },
  {
    name: 'a broken place goes when its holder leaves it',
    file: 'packages/holdfast/src/stores/memory/store.ts',
    find: 'if (this.#places.get(entry.id) !== place || place.broken) return',
    replace: 'if (this.#places.get(entry.id) !== place) return',
  },
  {
    name: 'a break puts the holders out at once',
    file: 'packages/holdfast/src/stores/memory/store.ts',
    find: 'if (atOnce) this.#remove(place)',
    replace: 'this.#remove(place)',
  },
  {
    name: 'a multi-lock that was aborted is given',
    file: 'packages/holdfast/src/acquire/together.ts',
    find: 'if (signal !== null) this.#forget = onAbort(signal, () => this.#giveUp())',
    replace: '',
  },
]
