/** A driver between core and the store under test: a test decides what happens around each call. */
import { StoreUnreachableError } from '../src/contract/errors.ts'
import type {
  CellView,
  Change,
  Demand,
  Driver,
  Entry,
  LineView,
  Place,
  Stop,
  Taken,
  Traits,
  Wake,
} from '../src/contract/driver.ts'

export type Method = 'enter' | 'touch' | 'leave' | 'watch' | 'swap' | 'enterAll' | 'rename' | 'reweigh' | 'take'

/** Called around the call with this number (from 1); core sees what it throws instead of an answer. */
export interface Around {
  before?(call: number, method: Method): void
  after?(call: number, method: Method): void
}

export class FaultyDriver implements Driver {
  readonly name: string
  readonly traits: Traits
  readonly #inner: Driver
  readonly #around: Around
  readonly enterAll?: (entries: readonly Entry[]) => Promise<Place[] | null>
  readonly rename?: (entry: Entry, id: string) => Promise<Place | null>
  readonly reweigh?: (entry: Entry, turn: number) => Promise<Place | null>
  readonly take?: (key: string, demand: Demand) => Promise<Taken>
  #calls = 0

  constructor(inner: Driver, around: Around) {
    this.#inner = inner
    this.#around = around
    this.name = inner.name
    this.traits = inner.traits
    const enterAll = inner.enterAll?.bind(inner)
    const rename = inner.rename?.bind(inner)
    const reweigh = inner.reweigh?.bind(inner)
    const take = inner.take?.bind(inner)
    if (enterAll !== undefined) this.enterAll = (entries) => this.#call('enterAll', () => enterAll(entries))
    if (rename !== undefined) this.rename = (entry, id) => this.#call('rename', () => rename(entry, id))
    if (reweigh !== undefined) this.reweigh = (entry, turn) => this.#call('reweigh', () => reweigh(entry, turn))
    if (take !== undefined) this.take = (key, demand) => this.#call('take', () => take(key, demand))
  }

  get calls(): number {
    return this.#calls
  }

  async #call<T>(method: Method, act: () => T | Promise<T>): Promise<T> {
    const call = ++this.#calls
    this.#around.before?.(call, method)
    const answer = await act()
    this.#around.after?.(call, method)
    return answer
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    return this.#call('enter', () => this.#inner.enter(entry, wait))
  }

  touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return this.#call('touch', () => this.#inner.touch(entries))
  }

  leave(entry: Entry, afterMs?: number): Promise<void> {
    return this.#call('leave', () => this.#inner.leave(entry, afterMs))
  }

  watch(line: string, id: string | null, wake: Wake): Promise<Stop> {
    return this.#call('watch', () => this.#inner.watch(line, id, wake))
  }

  list(prefix: string): AsyncIterable<LineView> {
    return this.#inner.list(prefix)
  }

  swap(key: string, change: Change | null): Promise<CellView> {
    return this.#call('swap', () => this.#inner.swap(key, change))
  }

  break(line: string, now: boolean): Promise<number> {
    return this.#inner.break(line, now)
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}

/** The request, or its reply, was lost on the way. */
export function lost(call: number): StoreUnreachableError {
  return new StoreUnreachableError(`call ${call} got no answer (made up by the conformance suite)`)
}
