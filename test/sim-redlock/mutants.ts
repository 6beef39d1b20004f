/**
 * Planted faults: each is a patch to the driver, or to the model of its scripts, that the simulation must find. Wrong ways to settle
 * a token are also played in token-game.ts, where the rarest of them shows sooner.
 */
import type { Mutant } from '../sim/mutants.ts'

const ROUNDS = 'src/drivers/redlock/rounds.ts'
const MODEL = 'test/sim-redlock/model.ts'

export const MUTANTS: Mutant[] = [
  {
    name: 'the token is simply the largest, and not written back',
    file: ROUNDS,
    find: 'const agreed = tally.agreed\n',
    replace: 'const agreed = Math.max(...tally.votes.values())\n',
  },
  {
    name: 'half the votes are enough',
    file: 'src/drivers/redlock/options.ts',
    find: 'const majority = Math.floor(nodes / 2) + 1',
    replace: 'const majority = Math.ceil(nodes / 2)',
  },
  {
    name: 'a server that forgot votes at once',
    file: MODEL,
    find: 'silentUntil: this.#now + longestMs,',
    replace: 'silentUntil: this.#now,',
  },
  {
    name: 'a server that forgot keeps quiet for too short a time',
    file: MODEL,
    find: 'silentUntil: this.#now + longestMs,',
    replace: 'silentUntil: this.#now + longestMs / 6,',
  },
  {
    name: 'votes are never given back, and split votes stay split',
    file: ROUNDS,
    find: 'if (claim.isGranted || claim.isForeign || claim.isOver || claim.isBusy) return',
    replace: 'if (claim.round >= 0) return',
  },
  {
    name: 'a holder gives votes back like a waiter',
    file: ROUNDS,
    find: 'if (claim.isGranted || claim.isForeign || claim.isOver || claim.isBusy) return',
    replace: 'if (claim.isForeign || claim.isOver || claim.isBusy) return',
  },
  {
    name: 'late answers of an abandoned round are not cleaned up',
    file: ROUNDS,
    find: 'if (claim.isRefused && code === CODE.vote) this.#undo(voter, claim, round)',
    replace: '',
  },
  {
    name: 'a try that failed keeps the votes that it got',
    file: ROUNDS,
    find: 'if (claim.votes.has(voter.index)) this.#undo(voter, claim, round)',
    replace: 'if (claim.votes.has(voter.index)) continue',
  },
  {
    name: 'a leave that erred is not repeated',
    file: ROUNDS,
    find: 'if (afterMs === 0) this.#janitor.add(voter, entry, round)',
    replace: '',
  },
  {
    name: 'a reader gets a vote beside a writer',
    file: MODEL,
    find: 'if (used + place.weight > place.capacity) return',
    replace: 'if (used + place.weight > place.capacity && place.weight > 1) return',
  },
  {
    name: 'a server is blamed for the sleep of a client',
    file: 'src/drivers/redlock/council.ts',
    find: 'if (witnesses.length < this.quorum || Math.abs(byMs) < BLAME_MS) {',
    replace: 'if (witnesses.length < 0) {',
  },
  {
    name: 'a server that lost a place counts as if it had voted',
    file: 'src/drivers/redlock/tally.ts',
    find: 'else if (code === CODE.gone) this.gone.push(voter)',
    replace: 'else if (code === CODE.gone) this.votes.set(voter, token)',
  },
]
