/** The faults of a run that are not those of a single message: of servers, of their clocks, and of clients. */
import type { Machine } from '../locks/machine.ts'
import type { Rng } from '../locks/rng.ts'
import type { Weather } from '../locks/weather.ts'
import type { World } from '../../src/simulated/world.ts'
import type { Node } from './node.ts'

export interface Stage {
  readonly nodes: readonly Node[]
  /** Whether it never forgets anything. */
  keeps(node: Node): boolean
  readonly weather: Weather
  readonly actors: readonly { readonly machine: Machine }[]
  readonly ttlMs: number
  readonly stormEndsAt: number
  readonly jumps: boolean
  readonly forgets: boolean
  /** Whether more than a minority may forget at once. */
  readonly mostForget: boolean
}

type NodeFault = 'empty restart' | 'restart' | 'down' | 'frozen' | 'clock jump' | 'majority forgets'

/** The faults that are not those of a single message. */
export function brew(rng: Rng, world: World, stage: Stage): void {
  const { nodes, weather, actors, ttlMs, stormEndsAt, jumps, forgets, mostForget } = stage
  const count = (fault: string): void => weather.count(fault as Parameters<Weather['count']>[0])
  for (let n = rng.whole(1, 4); n > 0; n--) {
    const node = rng.pick(nodes)
    const at = rng.between(1, stormEndsAt * 0.9)
    const lastsMs = rng.between(0.1, 1.2) * Math.min(ttlMs, 1_200)
    const kinds: NodeFault[] = forgets
      ? ['empty restart', 'empty restart', 'down', 'frozen', mostForget ? 'majority forgets' : 'restart']
      : ['restart', 'down', 'frozen']
    const fault = jumps && n === 1 ? 'clock jump' : rng.pick(kinds)
    const stepMs = rng.pick([-3_000, -400, 400, 900, 40_000])
    const isEmpty = forgets && rng.chance(0.5)
    world.at(at, () => {
      count(fault)
      world.note(`${fault} ${node.name}`)
      if (fault === 'empty restart' || fault === 'restart')
        node.restart(fault === 'empty restart' && !stage.keeps(node))
      else if (fault === 'majority forgets') {
        for (const one of nodes.slice(0, Math.floor(nodes.length / 2) + 1)) one.restart(!stage.keeps(one))
      } else if (fault === 'clock jump') node.stepClock(stepMs)
      else if (fault === 'frozen') {
        node.isFrozen = true
        world.at(world.now + lastsMs, () => node.thaw())
      } else {
        node.isUp = false
        world.at(world.now + lastsMs, () => node.restart(isEmpty && !stage.keeps(node)))
      }
    })
  }
  for (let n = rng.whole(0, 2); n > 0; n--) {
    const { machine } = rng.pick(actors)
    const fault = rng.pick(['crash', 'pause', 'suspend'] as const)
    const lastsMs = rng.between(0.2, 1.6) * Math.min(ttlMs, 1_200)
    // While it sleeps some servers hang up: their clocks are met anew, and only the others seem to have jumped.
    const strangers = nodes.filter(() => fault === 'suspend' && rng.chance(0.4))
    world.at(rng.between(1, stormEndsAt * 0.9), () => {
      count(fault)
      world.note(`${fault} ${machine.name}`)
      if (fault === 'crash') machine.crashed = true
      else {
        machine.freeze(fault === 'suspend')
        for (const node of strangers) world.at(world.now + lastsMs / 2, () => node.restart(false))
        world.at(world.now + lastsMs, () => machine.thaw())
      }
    })
  }
}
