/**
 * Planted faults: each is a patch to the driver, or to the model of its scripts, that the simulation must find. Wrong
 * ways to settle a token are also played in token-game.ts, where the rarest of them shows sooner.
 */
import type { Mutant } from '../locks/mutants.ts'

const ROUNDS = 'packages/holdfast/src/stores/redlock/rounds.ts'
const RECONFIGURATION = 'packages/holdfast/src/stores/redlock/reconfiguration.ts'
const MODEL = 'packages/holdfast-lab/simulation/redlock/model.ts'

export interface Planted extends Mutant {
  /** The first seed that shows it, as of the last change: asked first, so that the search is rarely needed. */
  readonly seed: number
}

export const MUTANTS: Planted[] = [
  {
    name: 'the token is simply the largest, and not written back',
    seed: 143,
    file: ROUNDS,
    find: 'own.token = tally.agreed\n',
    replace: 'own.token = Math.max(...tally.tokens)\n',
  },
  {
    name: 'half the votes are enough',
    seed: 356,
    file: 'packages/holdfast/src/stores/redlock/deployment.ts',
    find: 'return Math.floor(count / 2) + 1',
    replace: 'return Math.ceil(count / 2)',
  },
  {
    name: 'a server that forgot votes at once',
    seed: 626,
    file: MODEL,
    find: 'silentUntil: this.#now + longestMs,',
    replace: 'silentUntil: this.#now,',
  },
  {
    name: 'a server that forgot keeps quiet for too short a time',
    seed: 775,
    file: MODEL,
    find: 'silentUntil: this.#now + longestMs,',
    replace: 'silentUntil: this.#now + longestMs / 12,',
  },
  {
    name: 'votes are never given back, and split votes stay split',
    seed: 9,
    file: ROUNDS,
    find: 'if (own.isGranted || own.isForeign || own.isOver || own.isBusy) return',
    replace: 'if (own.round >= 0) return',
  },
  {
    name: 'a holder gives votes back like a waiter',
    seed: 4,
    file: ROUNDS,
    find: 'if (own.isGranted || own.isForeign || own.isOver || own.isBusy) return',
    replace: 'if (own.isForeign || own.isOver || own.isBusy) return',
  },
  {
    name: 'an answer that is read late undoes the push that came after it',
    seed: 8,
    file: 'packages/holdfast/src/stores/redlock/places.ts',
    find: 'if (pushedAt !== undefined && at < pushedAt) return',
    replace: '',
  },
  {
    name: 'who is asked for a vote while a round is under way forgets it',
    seed: 16,
    file: 'packages/holdfast/src/stores/redlock/places.ts',
    find: 'if (isRivalled) this.rivals.add(voter)\n  }',
    replace: '}',
  },
  {
    name: 'late answers of an abandoned round are not cleaned up',
    seed: 8,
    file: ROUNDS,
    find: 'if (own.isRefused && code === CODE.vote) this.#undo(voter, own, round)',
    replace: '',
  },
  {
    name: 'a try that failed keeps the votes that it got',
    seed: 8,
    file: ROUNDS,
    find: 'if (votes.has(voter.index)) this.#undo(voter, own, round)',
    replace: 'if (votes.has(voter.index)) continue',
  },
  {
    name: 'a leave that erred is not repeated',
    seed: 130,
    file: ROUNDS,
    find: 'if (afterMs === 0 && known?.sent.has(voter.index) !== false) this.#tombstones.add(voter, entry, round)',
    replace: '',
  },
  {
    name: 'what was never answered counts as never sent',
    seed: 130,
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
    seed: 29,
    file: 'packages/holdfast/src/stores/redlock/servers.ts',
    find: 'const witnesses = this.voters.filter(({ clock }) => clock.knownSince <= voter.fitAt)',
    replace: 'const witnesses = this.voters',
  },
  {
    name: 'a server that lost a place counts as if it had voted',
    seed: 84,
    file: 'packages/holdfast/src/stores/redlock/tally.ts',
    find: 'else if (code === CODE.gone) this.gone.push(voter)',
    replace: 'else if (code === CODE.gone) this.#vote(voter, token)',
  },
  {
    name: 'a client counts a majority of the list that it was given',
    seed: 20,
    file: 'packages/holdfast/src/stores/redlock/servers.ts',
    find: 'majorityOf(deployment?.servers.length ?? this.voters.length)',
    replace: 'majorityOf(deployment === null ? 3 : this.members.length)',
  },
  {
    name: 'two changes of the servers, and no lease between them',
    seed: 4_588,
    file: RECONFIGURATION,
    find: 'return Math.max(0, counted.maxTtlMs - youngest)',
    replace: 'return Math.min(0, counted.maxTtlMs - youngest)',
  },
  {
    name: 'a server in the place of a lost one votes at once',
    seed: 996,
    file: RECONFIGURATION,
    find: "voter, deployment, server.id, 'quiet')",
    replace: "voter, deployment, server.id, 'free')",
  },
  {
    name: 'a server votes by whatever epoch it is asked',
    seed: 1_076,
    file: MODEL,
    find: 'if (marker.run + marker.part !== seal) return -1',
    replace: 'if (!seal.startsWith(marker.run)) return -1',
  },
]
