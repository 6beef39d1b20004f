/**
 * The loop of one target: damaged inputs in batches, and whatever reaches a new block of the library joins the corpus.
 * Coverage is looked at once a batch, since a look costs more than many inputs; only a batch that brought something new
 * is run again one by one.
 */
import { Coverage } from './coverage.ts'
import { Mutator } from './mutator.ts'
import { isTyped, type Target } from './target.ts'

export interface LoopEvents {
  /** Before each input: whoever watches from outside knows what was run when nothing more comes. */
  began(input: Buffer): void
  failed(input: Buffer, error: unknown): void
  /** Worth keeping: it reached a block that none before it had reached. */
  found(input: Buffer): void
}

export interface Progress {
  readonly runs: number
  readonly blocks: number
  readonly corpus: number
}

/** A batch takes about this long. */
const BATCH_MS = 100
const BATCH_MAX = 500

export class Loop {
  readonly #target: Target
  readonly #events: LoopEvents
  readonly #mutator: Mutator
  readonly #corpus: Buffer[]
  #runs = 0
  #batch = 8

  constructor(target: Target, seed: number, corpus: readonly Buffer[], events: LoopEvents) {
    this.#target = target
    this.#events = events
    this.#mutator = new Mutator(seed, target.words)
    this.#corpus = [...target.seeds, ...corpus]
  }

  /** Until that instant of `performance.now()`. */
  async run(untilMs: number, tell: (progress: Progress) => void): Promise<void> {
    const coverage = new Coverage()
    for (const input of this.#corpus) await this.#one(input)
    coverage.look(true)
    while (performance.now() < untilMs) {
      const began = performance.now()
      const batch = Array.from({ length: this.#batch }, () => this.#mutator.next(this.#corpus))
      for (const input of batch) await this.#one(input)
      this.#batch = sized(this.#batch, performance.now() - began)
      if (coverage.look(false) > 0) await this.#sift(batch, coverage)
      tell({ runs: this.#runs, blocks: coverage.size, corpus: this.#corpus.length })
    }
    coverage.close()
  }

  /** So many, one after the other, without a look at coverage: the same for the same seed. */
  async runSome(count: number): Promise<void> {
    for (const input of this.#corpus) await this.#one(input)
    for (let left = count; left > 0; left--) await this.#one(this.#mutator.next(this.#corpus))
  }

  async #sift(batch: readonly Buffer[], coverage: Coverage): Promise<void> {
    for (const input of batch) {
      await this.#one(input)
      if (coverage.look(true) === 0) continue
      this.#corpus.push(input)
      this.#events.found(input)
    }
  }

  async #one(input: Buffer): Promise<void> {
    this.#runs++
    this.#events.began(input)
    try {
      await this.#target.run(Buffer.from(input))
    } catch (error) {
      if (!isTyped(error)) this.#events.failed(input, error)
    }
  }
}

function sized(batch: number, tookMs: number): number {
  return Math.max(1, Math.min(BATCH_MAX, Math.round((batch * BATCH_MS) / Math.max(1, tookMs))))
}
