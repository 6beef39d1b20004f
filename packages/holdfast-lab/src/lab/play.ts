/** One act while it is played: notes who does what, and when. */
import { type Act, type Actors, type Outcome, type Result, resultOf } from './exhibit.ts'
import { holdersAtOnce, type Moment, type Span } from './timeline.ts'

/** Ends a span; harmless after the span has ended. */
export type End = () => void

interface OpenSpan {
  readonly row: string
  readonly kind: Span['kind']
  readonly fromMs: number
  toMs: number | null
}

export class Play {
  readonly #title: string
  readonly #by: Actors
  readonly #claim: Result
  /** The time of the first note. */
  #began: number | null = null
  readonly #rows = new Set<string>()
  readonly #spans: OpenSpan[] = []
  readonly #moments: Moment[] = []

  /**
   * @param claim the outcome that the exhibit predicts.
   */
  constructor(title: string, by: Actors, claim: Result) {
    this.#title = title
    this.#by = by
    this.#claim = claim
  }

  /** Since the first note. */
  get ms(): number {
    return performance.now() - (this.#began ??= performance.now())
  }

  /** The most holders at once so far, by the spans noted. */
  get holdersAtOnce(): number {
    return holdersAtOnce(this.#closed())
  }

  step(row: string, text: string): void {
    this.#moment(row, 'step', text)
  }

  /** Something that we break. */
  fault(row: string, text: string): void {
    this.#moment(row, 'fault', text)
  }

  harm(row: string, text: string): void {
    this.#moment(row, 'harm', text)
  }

  caught(row: string, text: string): void {
    this.#moment(row, 'caught', text)
  }

  /** The row holds from now on, as it believes. */
  hold(row: string): End {
    return this.begin(row, 'hold')
  }

  /** The first note of a row also gives the row its position in the drawing. */
  begin(row: string, kind: Span['kind']): End {
    this.#rows.add(row)
    const span: OpenSpan = { row, kind, fromMs: this.ms, toMs: null }
    this.#spans.push(span)
    return () => {
      span.toMs ??= this.ms
    }
  }

  end(outcome: Outcome): Act {
    const timeline = { rows: [...this.#rows], spans: this.#closed(), moments: this.#moments, endMs: this.ms }
    return {
      ...outcome,
      title: this.#title,
      by: this.#by,
      claim: this.#claim,
      result: resultOf(this.#by, outcome),
      timeline,
    }
  }

  #closed(): Span[] {
    const endMs = this.ms
    return this.#spans.map(({ row, kind, fromMs, toMs }) => ({ row, kind, fromMs, toMs: toMs ?? endMs }))
  }

  #moment(row: string, kind: Moment['kind'], text: string): void {
    this.#rows.add(row)
    this.#moments.push({ row, kind, atMs: this.ms, text })
  }
}
