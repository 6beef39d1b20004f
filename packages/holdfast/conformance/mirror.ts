/**
 * The model beside a real store: each request goes to both, and their answers must agree. Tokens need not be equal,
 * only rise in the same order; a store may stop counting the weight ahead once its answer is "blocked".
 */
import { isGranted } from '../src/contract/driver.ts'
import { emptyLine, holders, type LineEvent, type ModelAnswer, type ModelLine, purge, stepLine } from './model-line.ts'

/** What a request asks of a line, as far as the model knows it. */
export type Asked =
  | { readonly kind: 'enter'; readonly entry: ModelEntry; readonly wait: boolean }
  | { readonly kind: 'touch' | 'leave'; readonly entry: ModelEntry }
  | { readonly kind: 'reweigh'; readonly entry: ModelEntry; readonly turn: number }
  | { readonly kind: 'break'; readonly line: string; readonly atOnce: boolean }

/** The contender, as far as the model knows. */
export interface ModelEntry {
  readonly line: string
  readonly id: string
  readonly weight: number
  readonly capacity: number
  readonly ttlMs: number
}

/** The part of a store's answer that the model knows. */
export interface RealAnswer {
  readonly token: bigint
  /** The weight ahead. */
  readonly ahead: number
  /** True: another contender waits. */
  readonly wanted: boolean
}

/** Runs the model beside a real store. */
export class Mirror {
  /** The store counts all the weight ahead, and nothing but that. */
  readonly #isExact: boolean
  readonly #lines = new Map<string, ModelLine>()
  /** The store's token of each place, by the model's: the two must rise together. */
  readonly #tokens = new Map<string, { readonly model: number; readonly real: bigint }[]>()

  constructor(isExact = false) {
    this.#isExact = isExact
  }

  /** Applies the request to the model; null: the two agree, else in what they differ. */
  disagree(asked: Asked, real: RealAnswer | null, now: number): string | null {
    const name = asked.kind === 'break' ? asked.line : asked.entry.line
    const capacity = asked.kind === 'break' ? 1 : asked.entry.capacity
    const before = purge(this.#lines.get(name) ?? emptyLine(capacity), now)
    // The capacity belongs to the line while somebody is in it.
    const line = before.places.length === 0 && asked.kind !== 'break' ? { ...before, capacity } : before
    const step = stepLine(line, eventOf(asked), now)
    this.#lines.set(name, step.line)
    if (asked.kind === 'break' || asked.kind === 'leave') return null
    const what = `${asked.kind} ${asked.entry.id.slice(0, 4)} of ${name}`
    const { answer } = step
    if (answer === null || real === null) {
      return answer === real ? null : `${what}: the store says ${say(real)}, the model ${sayModel(answer)}`
    }
    return this.#compare(what, name, asked.entry, answer, real)
  }

  /** Where the place stands in the model; null: nowhere. */
  standing({ line: name, id }: Pick<ModelEntry, 'line' | 'id'>): 'holds' | 'waits' | null {
    const line = this.#lines.get(name)
    const place = line?.places.find((each) => each.id === id)
    if (line === undefined || place === undefined) return null
    return holders(line).includes(place) ? 'holds' : 'waits'
  }

  #compare(what: string, name: string, entry: ModelEntry, model: ModelAnswer, real: RealAnswer): string | null {
    const isIn = isGranted({ weight: model.weight, capacity: entry.capacity }, real)
    if (isIn !== model.granted || (isIn && this.#isExact && real.ahead !== model.ahead)) {
      return `${what}: the store says ${say(real)}, the model ${sayModel(model)}`
    }
    // "Nobody wants it" is a promise to a holder; "somebody may" is no promise.
    if (isIn && model.wanted && !real.wanted)
      return `${what}: the store says that nobody else wants it, and somebody waits`
    // Only an exclusive hold has an order, and a waiter's token may still change.
    const isAlone = isIn && entry.weight === entry.capacity && entry.capacity === 1
    return isAlone ? this.#compareTokens(what, name, model.token, real.token) : null
  }

  #compareTokens(what: string, name: string, model: number, real: bigint): string | null {
    const known = this.#tokens.get(name) ?? []
    this.#tokens.set(name, known)
    const same = known.find((each) => each.model === model)
    if (same !== undefined) return same.real === real ? null : `${what}: its token was ${same.real}, and is ${real}`
    known.push({ model, real })
    const wrong = known.find((each) => each.model !== model && each.model < model !== each.real < real)
    return wrong === undefined ? null : `${what}: its token ${real} is on the wrong side of ${wrong.real}`
  }
}

function eventOf(asked: Asked): LineEvent {
  if (asked.kind === 'break') return { kind: 'break', atOnce: asked.atOnce }
  const { id, weight, ttlMs } = asked.entry
  if (asked.kind === 'enter') return { kind: 'enter', id, weight, ttl: ttlMs, wait: asked.wait }
  if (asked.kind === 'reweigh') return { kind: 'reweigh', id, weight, turn: asked.turn }
  return { kind: asked.kind, id }
}

function say(answer: RealAnswer | null): string {
  return answer === null ? 'nothing' : `${answer.ahead} in front`
}

function sayModel(answer: ModelAnswer | null): string {
  return answer === null ? 'nothing' : `${answer.ahead} in front${answer.granted ? ', granted' : ''}`
}
