/** Planted faults: each is a patch to the real source, by name, that the simulation must find. */

export interface Mutant {
  readonly name: string
  readonly file: string
  /** Stands exactly once in the file. */
  readonly find: string
  readonly replace: string
}

export const MUTANTS: Mutant[] = [
  {
    name: 'a lease is believed for longer than it lasts',
    file: 'src/core/validity.ts',
    find: 'return Math.max(0, ttlMs - driftMs(ttlMs))',
    replace: 'return ttlMs * 1.5',
  },
  {
    name: 'validity is counted from the reply',
    file: 'src/core/lease.ts',
    find: 'this.sinceMonoMs = place.since.monoMs',
    replace: 'this.sinceMonoMs = place.since.monoMs + this.entry.ttlMs / 5',
  },
  {
    name: 'an answer read after its deadline is a grant',
    file: 'src/core/attempt.ts',
    find: 'if (this.#core.keeper.leftMs(lease) <= 0 || this.#core.keeper.isDoubtful(lease)) {',
    replace: 'if (lease === null) {',
  },
  {
    name: 'a machine that slept believes its monotonic clock',
    file: 'src/core/keeper.ts',
    find: 'return this.#runtime.wallNow() >= lease.sinceWallMs + usableMs(lease.ttlMs)',
    replace: 'return false',
  },
  {
    name: 'a push is believed whenever it comes',
    file: 'src/core/attempt.ts',
    find: 'return this.#spec.settings.renew && keeper.leftMs(lease) > 0 && !keeper.isDoubtful(lease)',
    replace: 'return true',
  },
  {
    name: 'a loss is not told without an answer of the store',
    file: 'src/core/keeper.ts',
    find: 'this.#expire(kept.exposed, kept)',
    replace: '',
  },
  {
    name: 'a failed renewal is not tried again',
    file: 'src/core/keeper.ts',
    find: 'for (const lease of batch) {\n          lease.busy = false\n          lease.again = false\n          this.look(lease)\n        }',
    replace: '',
  },
  {
    name: 'renewals come too late',
    file: 'src/core/validity.ts',
    find: 'return ttlMs / 3',
    replace: 'return ttlMs * 0.98',
  },
  {
    name: 'a waiter whose place lapsed is forgotten',
    file: 'src/core/attempt.ts',
    find: 'if (!this.#ended && lease !== null) this.#startOver(lease)',
    replace: '',
  },
  {
    name: 'what was asked for is not given up with the wait',
    file: 'src/core/attempt.ts',
    find: '    // Never sent means nothing to undo. If a request is still under way, this is done again when it ends.\n    if (this.#firstSentAt !== 0) this.#core.reaper.drop(lease.entry)',
    replace: '',
  },
  {
    name: 'a failed leave is not repeated',
    file: 'src/core/reaper.ts',
    find: '      this.#insist(entry, afterMs)\n      return true',
    replace: '      return true',
  },
  {
    name: 'a lost reply is asked for again under a new id, and the old one stays',
    file: 'src/core/attempt.ts',
    find: 'if (isFresh && lease.stop !== null) {\n      this.#later(() => this.#enter(lease))',
    replace: 'if (isFresh && lease.stop !== null) {\n      this.#later(() => this.start())',
  },
  {
    name: 'a hand-over inside the process does not raise the token',
    file: 'src/core/queue.ts',
    find: 'this.#issue(lease, hold.counter + 1, waiter)',
    replace: 'this.#issue(lease, hold.counter, waiter)',
  },
  {
    name: 'the waiters of a lost place are not put back in line',
    file: 'src/core/queue.ts',
    find: 'if (this.#hold !== hold) return\n    this.#hold = null\n    if (this.#waiting > 0) this.#start(true)\n    else this.#rest()',
    replace: 'if (this.#hold !== hold) return\n    this.#hold = null',
  },
  {
    name: 'children of one hold come in together',
    file: 'src/core/context.ts',
    find: 'if (this.#nested === null) {',
    replace: 'if (this.#nested === null || waiter.wish.waitMs > 0) {',
  },
  {
    name: 'a task that outlives its hold takes itself for the holder',
    file: 'src/core/context.ts',
    find: '      if (context.#core === core && context.#open && context.#hold.spec.name === line && context.#hold.live)\n        return context',
    replace: 'if (context.#core === core && context.#hold.spec.name === line) return context',
  },
  {
    name: 'leave with an unknown id frees whoever is first',
    file: 'src/drivers/memory/store.ts',
    find: 'this.#bury(entry.id, now + entry.ttlMs, now)\n      return',
    replace:
      'const first = this.#lines.get(entry.line)?.head\n      if (first) this.#remove(first)\n      if (first) this.#settle(first.line)\n      return',
  },
  {
    name: 'touch revives a lapsed place',
    file: 'src/drivers/memory/store.ts',
    find: '    // Judged by the line as it is now: a lapsed place is removed here, and never comes back.\n    this.#purge(place.line, now)\n    return this.#places.get(entry.id) === place ? this.#renew(place, now) : null',
    replace: '    if (place.lapsesAt <= now) place.line.remove(place)\n    return this.#renew(place, now)',
  },
  {
    name: 'light places overtake heavy ones',
    file: 'src/drivers/memory/line.ts',
    find: 'ahead += other.weight\n',
    replace: 'if (other.granted) ahead += other.weight\n',
  },
  {
    name: 'a lapsed place goes on blocking',
    file: 'src/drivers/memory/store.ts',
    find: 'if (place.lapsesAt <= now) {',
    replace: 'if (place.lapsesAt <= now && place.granted) {',
  },
  {
    name: 'tokens are used twice',
    file: 'src/drivers/memory/store.ts',
    find: 'return next > floor ? next : floor',
    replace: 'return floor / 20000n + 1n',
  },
]
