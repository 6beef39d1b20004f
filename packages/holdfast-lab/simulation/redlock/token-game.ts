/**
 * The protocol of tokens alone, on the model of the servers' scripts: clients with clocks far apart take one lock in
 * turn, one request at a time in any order, and some write-backs get lost or come late. Small runs, many of them: the
 * wrong ways to settle a token show.
 */
import { Rng } from '../locks/rng.ts'
import { Model } from './model.ts'

/** Only the first is right. The last: what was written beside a vote stays, also after the vote was given back. */
export type Way = 'where the vote lives' | 'any majority' | 'plain maximum' | 'for ever'

const MARKER = 'g:redlock'
const PART = '.game.1.one'
const LINE = 'g:{line}'
const RUN = 'r'.repeat(40)
const START_US = 1_700_000_000_000_000
const LONGEST_MS = 600_000

interface Game {
  readonly rng: Rng
  readonly nodes: readonly Model[]
  readonly quorum: number
  readonly way: Way
  nowUs: number
  round: number
  /** Requests that arrive some time. */
  readonly late: (() => void)[]
  /** The token of the latest hold. */
  latest: number
  hasFallen: boolean
}

/** Plays one game; true: a token fell. */
export function tokenFell(seed: number, way: Way): boolean {
  const rng = new Rng(seed)
  const size = rng.pick([3, 5])
  const nodes = Array.from({ length: size }, () => new Model(RUN))
  const quorum = Math.floor(size / 2) + 1
  const game: Game = { rng, nodes, quorum, way, nowUs: START_US, round: 0, late: [], latest: 0, hasFallen: false }
  for (const node of nodes) node.step('adopt', [MARKER, ''], ['', PART, LONGEST_MS, 'free', ''], START_US)
  const clients = Array.from({ length: 3 }, () => play(game, rng.between(-20, 20) * 1_000_000))
  for (let steps = 0; steps < 400 && !game.hasFallen; steps++) {
    rng.pick(clients).next()
    if (game.late.length > 0 && rng.chance(0.1)) game.late.splice(rng.whole(0, game.late.length - 1), 1)[0]?.()
  }
  return game.hasFallen
}

/**
 * One client: enters everywhere and waits; takes the lock when a majority votes for it; lets go. Yields after every
 * request.
 */
function* play(game: Game, skewUs: number): Generator<void, void> {
  const { rng, nodes, quorum } = game
  for (;;) {
    const id = rng.hex(32)
    const priority = game.nowUs
    const votes = new Map<number, number>()
    const enter = [id, 1, 1, LONGEST_MS, priority, game.nowUs + skewUs, 0, ++game.round, 1, 'i', '{}']
    for (const index of shuffled(rng, nodes.length)) {
      count(votes, index, ask(game, index, 'enter', enter))
      yield
    }
    let token: number | null = null
    let rivals: number[] = []
    let round = 0
    for (let tries = 0; tries < 40; tries++) {
      if (votes.size >= quorum) {
        round = ++game.round
        token = yield* settle(game, id, votes, round)
      }
      if (token !== null) break
      // It does not hold: an earlier one gets the votes it waits for, and the next round may have them again.
      for (const index of rivals) ask(game, index, 'yield', [id, round])
      for (let pause = rng.pick([1, 1, 20]); pause > 0; pause--) yield
      votes.clear()
      rivals = []
      round = ++game.round
      const touch = [1, id, game.nowUs + skewUs, 0, round]
      for (const index of shuffled(rng, nodes.length)) {
        const answer = ask(game, index, 'touch', touch)
        count(votes, index, answer)
        if (answer[0] === 1 && answer[3] === 1) rivals.push(index)
        yield
      }
    }
    if (token !== null) {
      if (token <= game.latest) game.hasFallen = true
      game.latest = token
      yield
    }
    for (const index of shuffled(rng, nodes.length)) {
      ask(game, index, 'leave', [id, LONGEST_MS, 0, 0, Number.MAX_SAFE_INTEGER])
      yield
    }
  }
}

/** null: not enough servers confirmed. */
function* settle(
  game: Game,
  id: string,
  votes: ReadonlyMap<number, number>,
  round: number,
): Generator<void, number | null> {
  const { rng, nodes, quorum, way } = game
  const largest = Math.max(...votes.values())
  if (way === 'plain maximum') return largest
  const agreed = [...votes.values()].find(
    (token) => [...votes.values()].filter((one) => one === token).length >= quorum,
  )
  if (agreed !== undefined) return agreed
  let confirmed = 0
  const write = [1, id, largest, way === 'for ever' ? 1 : 2, round]
  for (const index of shuffled(rng, nodes.length)) {
    if (rng.chance(0.3)) {
      // Lost, or long under way.
      if (rng.chance(0.5)) game.late.push(() => void ask(game, index, 'touch', write))
      continue
    }
    const [code] = ask(game, index, 'touch', write)
    if (code === 1 || way === 'any majority') confirmed++
    if (confirmed >= quorum) return largest
    yield
  }
  return null
}

function ask(game: Game, index: number, step: string, args: readonly (string | number)[]): number[] {
  game.nowUs += 1_000
  const node = game.nodes[index] as Model
  const answer = node.step(step, [MARKER, LINE], [RUN + PART, PART, 120_000, ...args], game.nowUs)
  node.pushes.length = 0
  return answer.slice(2) as number[]
}

function count(votes: Map<number, number>, index: number, [code, token]: readonly number[]): void {
  if (code === 1) votes.set(index, token ?? 0)
}

function shuffled(rng: Rng, size: number): number[] {
  const order = Array.from({ length: size }, (_, i) => ({ i, at: rng.next() }))
  return order.toSorted((a, b) => a.at - b.at).map(({ i }) => i)
}
