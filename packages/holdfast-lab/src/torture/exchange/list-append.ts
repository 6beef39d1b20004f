/**
 * For Elle, with its checker `list-append`: the resource behind each line as lists. A visit is one transaction: it
 * reads what stands there, and if it holds alone it adds itself. Of two that read the same list and both add to it,
 * each must have come before the other: a lost update is a cycle.
 *
 * A list that everybody reads as a whole would be written out again and again. So it is cut into blocks, each a list
 * with a key of its own; a visit reads the block that is being written, and the next, which must be empty. At the
 * beginning of a block it reads the one before, too: what nobody reads has no order.
 */
import type { EffectEvent } from '../history/event.ts'
import type { LineTrial, Trial } from '../checker/trial.ts'
import { type Edn, keyword } from './edn.ts'
import { jepsen, type JepsenOp } from './jepsen.ts'
import { Clients } from './operations.ts'

/** guarded: the list that checks tokens. open: the one that lets everything through. */
export type Resource = 'guarded' | 'open'

const BLOCK = 64
const BEGINNING = 16

/** A step that reached the list. */
interface Step {
  readonly effect: EffectEvent
  /** How many elements it saw. */
  readonly saw: number
  /** What it added; null: it only read. */
  readonly added: number | null
}

export function* listAppend(trial: Trial, resource: Resource): Generator<string> {
  const keys = new Keys()
  const all = [...trial.lines.values()].flatMap((line) => transactions(trial, line, resource, keys))
  for (const [key, text] of keys.texts()) yield `; list ${key}: ${text}`
  const clients = new Clients()
  all.sort((a, b) => a.call - b.call)
  const ops = all.map(({ p, ...op }): JepsenOp => ({ ...op, process: clients.take(p, op.call, op.answered) }))
  yield* jepsen(ops, trial.start, trial.end)
}

/** One operation; which client of the process made it is found out when all are known. */
interface Transaction extends Omit<JepsenOp, 'process'> {
  readonly p: string
}

function transactions(trial: Trial, line: LineTrial, resource: Resource, keys: Keys): Transaction[] {
  const visits = new Map<string, Step[]>()
  for (const effect of line.effects) {
    const saw = effect.saw?.[resource]
    if (saw === undefined || (resource === 'guarded' && !effect.accepted)) continue
    const adds = effect.what === 'write' && trial.holdOf(effect.p, effect.i)?.exclusive === true
    const visit = `${effect.p} ${effect.i}`
    // An element is its place in the list.
    const step = { effect, saw, added: adds ? saw : null }
    const steps = visits.get(visit)
    if (steps === undefined) visits.set(visit, [step])
    else steps.push(step)
  }
  return [...visits.values()].map((steps) => transaction(steps, line.spec.name, keys))
}

function transaction(steps: readonly Step[], line: string, keys: Keys): Transaction {
  const asked: Edn[] = []
  const value: Edn[] = []
  const read = (block: number, to: number): void => {
    const from = block * BLOCK
    const list = Array.from({ length: Math.max(0, Math.min(to - from, BLOCK)) }, (_, at) => from + at)
    asked.push([keyword('r'), keys.of(line, block), null])
    value.push([keyword('r'), keys.of(line, block), list])
  }
  for (const { saw, added } of steps) {
    const block = Math.floor(saw / BLOCK)
    if (added === null) {
      if (block > 0 && saw % BLOCK < BEGINNING) read(block - 1, saw)
      read(block, saw)
      read(block + 1, saw)
    } else {
      const append = [keyword('append'), keys.of(line, block), added] as const
      asked.push(append)
      value.push(append)
    }
  }
  const [first, last] = [steps[0] as Step, steps.at(-1) as Step]
  return {
    p: first.effect.p,
    f: 'txn',
    call: first.effect.begun,
    answered: last.effect.t,
    type: 'ok',
    asked,
    value,
  }
}

/** Numbers for the lists. */
class Keys {
  readonly #numbers = new Map<string, number>()

  of(line: string, block: number): number {
    const text = `${line}, elements from ${block * BLOCK} on`
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    this.#numbers.set(text, this.#numbers.size)
    return this.#numbers.size - 1
  }

  texts(): (readonly [number, string])[] {
    return [...this.#numbers].map(([text, number]) => [number, text] as const)
  }
}
