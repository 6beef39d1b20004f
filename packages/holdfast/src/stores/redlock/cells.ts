/**
 * Cells over a majority: a change is one ballot that a majority first promises and then takes, so no two can both
 * succeed.
 */
import { CELL_TOMBSTONE_MS } from '../shared/tombstones.ts'
import { OutcomeUnknownError, StoreUnreachableError } from '../../contract/errors.ts'
import type { CellView, Change } from '../../contract/driver.ts'
import type { Keys } from '../redis/keys.ts'
import { backoffMs } from '../shared/backoff.ts'
import type { Servers } from './servers.ts'
import type { Deployment } from './deployment.ts'
import { poll } from './poll.ts'
import type { Items } from './voter.ts'

/** Two ballots at once push each other aside: each waits a random while before it tries again. */
const TRIES = 60
const PAUSE = { backoffMinMs: 4, backoffMaxMs: 60 }

/** What a majority last took, as far as those that answered know. */
interface Taken {
  readonly ballot: number
  readonly version: number
  /** 0: for ever. -1: lapsed. */
  readonly leftMs: number
  readonly value: string | null
  readonly nonce: string | null
  /** The latest changes, newest first, as the beginning of the nonce, a colon and the version, with blanks between. */
  readonly history: string
}

const ABSENT: Taken = { ballot: 0, version: 0, leftMs: 0, value: null, nonce: null, history: '' }
/** Changes that a cell remembers: enough to find one's own again among those that came on top of it meanwhile. */
const HISTORY = 64
/** So much of a nonce tells it from those of the others. */
const NONCE = 12

export class Cells {
  readonly #servers: Servers
  readonly #keys: Keys
  readonly #limitMs: number
  #promised = 0

  constructor(servers: Servers, keys: Keys, limitMs: number) {
    this.#servers = servers
    this.#keys = keys
    this.#limitMs = limitMs
  }

  /** @param by the deployment by which it is counted, if that must not change meanwhile. */
  async swap(key: string, change: Change | null, by: Deployment | null = null): Promise<CellView> {
    const { runtime } = this.#servers
    // What this call last tried to write, and what it was to replace.
    let tried: { readonly before: Taken; readonly after: Taken } | null = null
    for (let tries = 0; tries < TRIES; tries++) {
      const ballot = Math.max(this.#servers.propose(), this.#promised + 1)
      // Both halves of a ballot are counted by the same servers: two majorities of different ones need not meet.
      const counted = by ?? this.#servers.counted
      const before = await this.#prepare(key, ballot, counted)
      if (before !== null) {
        const after = this.#decide(before, ballot, change)
        if (tried !== null && after.nonce !== tried.after.nonce) {
          // A try of ours was cut off, and now there is another's change: it came before ours, or on top of it.
          const version = versionIn(before.history, tried.after.nonce)
          if (version !== null) return viewOf({ ...tried.after, version })
          if (versionIn(before.history, tried.before.nonce) === null) throw unknown(key)
          return viewOf(after)
        }
        // Also what is only read is taken again: a value that a minority has may be the outcome of a ballot that was
        // cut off, and must not be seen by one reader and missed by the next. It is copied to servers that forgot it,
        // too.
        if (after.nonce !== before.nonce) tried = { before, after }
        if (after.version === 0 && after.nonce === null) return viewOf(after)
        if (await this.#accept(key, ballot, after, counted)) return viewOf(after)
      }
      const pauseMs = backoffMs(tries, PAUSE, runtime.random())
      await new Promise<void>((resolve) => void runtime.after(pauseMs, resolve, true))
    }
    if (tried !== null) throw unknown(key)
    throw new StoreUnreachableError(`cell ${JSON.stringify(key)}: others changed it all the time`)
  }

  #decide(before: Taken, ballot: number, change: Change | null): Taken {
    const isLapsed = before.leftMs < 0
    const now: Taken = isLapsed ? { ...ABSENT, ballot: before.ballot } : before
    if (change === null || now.nonce === change.nonce) return now
    const version = now.value === null ? 0 : now.version
    if (BigInt(version) !== change.version) return now
    // Versions obey the law of tokens: larger than all before, also across a removal.
    const fresh = Math.max(before.version + 1, ballot)
    const history = [`${change.nonce.slice(0, NONCE)}:${fresh}`, ...before.history.split(' ')]
      .slice(0, HISTORY)
      .join(' ')
    return { ballot, version: fresh, leftMs: change.ttlMs, value: change.next, nonce: change.nonce, history }
  }

  /** null: another ballot came in between. */
  async #prepare(key: string, ballot: number, counted: Deployment): Promise<Taken | null> {
    let newest = ABSENT
    const isPromised = await this.#majority(
      (voter) => voter.ask('prepare', [this.#keys.cell(key)], [ballot, CELL_TOMBSTONE_MS], counted),
      key,
      (items) => {
        const [, , promised, latest, taken, version, leftMs, full, nonce, value, history] = items as [
          number,
          number,
          number,
          number,
          number,
          number,
          number,
          number,
          string,
          string,
          string,
        ]
        this.#promised = Math.max(this.#promised, latest)
        if (promised === 1 && taken > newest.ballot) {
          newest = {
            ballot: taken,
            version,
            leftMs,
            value: full === 1 ? value : null,
            nonce: nonce === '' ? null : nonce,
            history,
          }
        }
        return promised === 1
      },
    )
    return isPromised ? newest : null
  }

  #accept(
    key: string,
    ballot: number,
    { version, leftMs, value, nonce, history }: Taken,
    counted: Deployment,
  ): Promise<boolean> {
    const full = value === null ? 0 : 1
    const args = [ballot, version, Math.max(0, leftMs), full, value ?? '', nonce ?? '', CELL_TOMBSTONE_MS, history]
    return this.#majority(
      (voter) => voter.ask('accept', [this.#keys.cell(key)], args, counted),
      key,
      ([, , taken, latest]) => {
        this.#promised = Math.max(this.#promised, Number(latest))
        return taken === 1
      },
    )
  }

  /** Whether a quorum said yes. Rejects when too few answered. */
  async #majority(
    send: (voter: Servers['voters'][number]) => Promise<Items>,
    key: string,
    isYes: (items: Items) => boolean,
  ): Promise<boolean> {
    const { members: voters, quorum, total, runtime } = this.#servers
    let [yes, no] = [0, 0]
    const isImpossible = (): boolean => no > total - quorum
    const errors: Error[] = []
    await poll({
      voters,
      runtime,
      limitMs: this.#limitMs,
      send,
      hear: (_, items) => void (isYes(items) ? yes++ : no++),
      miss: (_, error) => void errors.push(error),
      isDecided: () => yes >= quorum || isImpossible(),
      isMostlyHeard: () => yes + no >= quorum,
    })
    if (yes >= quorum) return true
    // The servers changed, or one lost its marker: the ballot is made again, when it is known who they are.
    if (await this.#servers.calm(errors)) return false
    // With an even number of servers half of them can say so, which are no quorum, and it is an answer all the same.
    if (yes + no < quorum && !isImpossible()) throw this.#servers.unreachable(yes + no, errors, key)
    return false
  }
}

function viewOf({ version, value, nonce }: Taken): CellView {
  return { version: value === null ? 0n : BigInt(version), value, nonce }
}

/** The version that a change got; null: the history does not know it. The state before any change is always known. */
function versionIn(history: string, nonce: string | null): number | null {
  if (nonce === null) return history.split(' ').length < HISTORY ? 0 : null
  const key = `${nonce.slice(0, NONCE)}:`
  const entry = history.split(' ').find((item) => item.startsWith(key))
  return entry === undefined ? null : Number(entry.slice(key.length))
}

function unknown(key: string): OutcomeUnknownError {
  return new OutcomeUnknownError(`cell ${JSON.stringify(key)}: whether the change was made can't be found out any more`)
}
