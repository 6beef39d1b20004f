/** Enumerates every state that a small world can reach, breadth first: so the first fault found is the shortest. */
import { Liveness } from './calm.ts'
import { Clients, RULES, type Rules } from './client.ts'
import { brokenLaw } from './laws.ts'
import { firstState, moves } from './moves.ts'
import { Keys } from './key.ts'
import type { Budget, State, World } from './state.ts'

export interface Explored {
  readonly world: string
  readonly states: number
  readonly steps: number
  /** The longest way to a state, in moves. */
  readonly depth: number
  readonly fault: Counterexample | null
  /** All states were seen. */
  readonly isWhole: boolean
}

export interface Counterexample {
  readonly law: string
  /** The moves that lead to it. */
  readonly schedule: readonly string[]
}

interface Node {
  readonly state: State
  readonly from: Node | null
  readonly move: string
  readonly depth: number
}

export interface ExploreOptions {
  readonly rules?: Rules
  /** Gives up after so many states. Default: never. */
  readonly statesMax?: number
}

export function explore(world: World, budget: Budget, options: ExploreOptions = {}): Explored {
  const { rules = RULES, statesMax = Number.POSITIVE_INFINITY } = options
  const clients = new Clients(world, rules)
  const liveness = new Liveness(clients)
  const keys = new Keys(world)
  const seen = new Set<string>()
  let edge: Node[] = [{ state: firstState(world, budget), from: null, move: '', depth: 0 }]
  seen.add(keys.of((edge[0] as Node).state))
  let steps = 0
  let depth = 0
  const end = (fault: Counterexample | null, isWhole: boolean): Explored => ({
    world: world.name,
    states: seen.size,
    steps,
    depth,
    fault,
    isWhole,
  })
  while (edge.length > 0) {
    const next: Node[] = []
    for (const node of edge) {
      depth = node.depth
      const law = brokenLaw(node.state, clients, node.state.budget.crash < budget.crash)
      if (law !== null) return end({ law, schedule: scheduleOf(node) }, false)
      const calm = liveness.check(node.state)
      if (calm !== 'live') return end({ law: standstill(calm), schedule: scheduleOf(node) }, false)
      for (const { name, next: state } of moves(node.state, clients)) {
        steps++
        const key = keys.of(state)
        if (seen.has(key)) continue
        seen.add(key)
        next.push({ state, from: node, move: name, depth: node.depth + 1 })
      }
      if (seen.size > statesMax) return end(null, false)
    }
    edge = next
  }
  return end(null, true)
}

function standstill(round: readonly State[]): string {
  const waiting = round[0]?.clients.flatMap(({ legs }) => legs.map(({ id, phase }) => `${id} ${phase}`)) ?? []
  return `liveness: nobody is served any more (${waiting.join(', ')})`
}

function scheduleOf(node: Node): string[] {
  const schedule: string[] = []
  for (let at: Node | null = node; at !== null && at.from !== null; at = at.from) schedule.push(at.move)
  return schedule.toReversed()
}
