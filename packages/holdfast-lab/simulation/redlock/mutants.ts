/**
 * Planted faults: each is a patch to the driver, or to the model of its scripts, that the simulation must find. Wrong ways to settle
 * a token are also played in token-game.ts, where the rarest of them shows sooner.
 */
import type { Mutant } from '../sim/mutants.ts'

const ROUNDS = 'src/drivers/redlock/rounds.ts'
const MODEL = 'test/sim-redlock/model.ts'

export interface Planted extends Mutant {
  /** The first seed that shows it, as of the last change: asked first, so that the search is rarely needed. */
  readonly seed: number
}

export const MUTANTS: Planted[] = [
  {
    name: 'the token is simply the largest, and not written back',
    seed: 102,
    file: ROUNDS,
    find: 'claim.token = tally.agreed\n',
    replace: 'claim.token = Math.max(...tally.tokens)\n',
  },
  {
    name: 'half the votes are enough',
    seed: 55,
    file: 'src/drivers/redlock/options.ts',
    find: 'const majority = Math.floor(nodes / 2) + 1',
    replace: 'const majority = Math.ceil(nodes / 2)',
  },
  {
    name: 'a server that forgot votes at once',
    seed: 46,
    file: MODEL,
    find: 'silentUntil: this.#now + longestMs,',
    replace: 'silentUntil: this.#now,',
  },
  {
    name: 'a server that forgot keeps quiet for too short a time',
    seed: 822,
    file: MODEL,
    find: 'silentUntil: this.#now + longestMs,',
    replace: 'silentUntil: this.#now + longestMs / 12,',
  },
  {
    name: 'votes are never given back, and split votes stay split',
    seed: 6,
    file: ROUNDS,
    find: 'if (claim.isGranted || claim.isForeign || claim.isOver || claim.isBusy) return',
    replace: 'if (claim.round >= 0) return',
  },
  {
    name: 'a holder gives votes back like a waiter',
    seed: 11,
    file: ROUNDS,
    find: 'if (claim.isGranted || claim.isForeign || claim.isOver || claim.isBusy) return',
    replace: 'if (claim.isForeign || claim.isOver || claim.isBusy) return',
  },
  {
    name: 'an answer that is read late undoes the push that came after it',
    seed: 64,
    file: 'src/drivers/redlock/claim.ts',
    find: 'if (pushedAt !== undefined && at < pushedAt) return',
    replace: '',
  },
  {
    name: 'who is asked for a vote while a round is under way forgets it',
    seed: 8,
    file: 'src/drivers/redlock/claim.ts',
    find: 'if (isRivalled) this.rivals.add(voter)\n  }',
    replace: '}',
  },
  {
    name: 'late answers of an abandoned round are not cleaned up',
    seed: 8,
    file: ROUNDS,
    find: 'if (claim.isRefused && code === CODE.vote) this.#undo(voter, claim, round)',
    replace: '',
  },
  {
    name: 'a try that failed keeps the votes that it got',
    seed: 8,
    file: ROUNDS,
    find: 'if (votes.has(voter.index)) this.#undo(voter, claim, round)',
    replace: 'if (votes.has(voter.index)) continue',
  },
  {
    name: 'a leave that erred is not repeated',
    seed: 3,
    file: ROUNDS,
    find: 'if (afterMs === 0 && own?.sent.has(voter.index) !== false) this.#janitor.add(voter, entry, round)',
    replace: '',
  },
  {
    name: 'what was never answered counts as never sent',
    seed: 3,
    file: ROUNDS,
    find: 'const isSent = voter.takes',
    replace: 'const isSent = false',
  },
  {
    name: 'a reader gets a vote beside a writer',
    seed: 1,
    file: MODEL,
    find: 'if (used + place.weight > place.capacity) return',
    replace: 'if (used + place.weight > place.capacity && place.weight > 1) return',
  },
  {
    name: 'a server is blamed for the sleep of a client',
    seed: 34,
    file: 'src/drivers/redlock/council.ts',
    find: 'const witnesses = this.voters.filter(({ clock }) => clock.knownSince <= voter.fitAt)',
    replace: 'const witnesses = this.voters',
  },
  {
    name: 'a server that lost a place counts as if it had voted',
    seed: 47,
    file: 'src/drivers/redlock/tally.ts',
    find: 'else if (code === CODE.gone) this.gone.push(voter)',
    replace: 'else if (code === CODE.gone) this.#vote(voter, token)',
  },
]
