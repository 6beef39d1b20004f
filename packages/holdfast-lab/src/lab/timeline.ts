/** Who held what, and when: the record of an act, for people. */

/** A stretch of time in a row: a client holds, waits or is stopped; a server is down or cut off. */
export interface Span {
  readonly row: string
  readonly kind: 'hold' | 'wait' | 'stopped' | 'down'
  readonly fromMs: number
  readonly toMs: number
}

/** Something that happened. */
export interface Moment {
  readonly row: string
  /** 'step': as planned. 'fault': what we broke. 'harm': what must not happen. 'caught': harm that was refused. */
  readonly kind: 'step' | 'fault' | 'harm' | 'caught'
  readonly atMs: number
  readonly text: string
}

/** Times are counted from the beginning of the act. */
export interface Timeline {
  /** Clients and servers, in the order in which they appeared. */
  readonly rows: readonly string[]
  readonly spans: readonly Span[]
  readonly moments: readonly Moment[]
  readonly endMs: number
}

/** A stretch of time in which `count` rows held at once. */
export interface Overlap {
  readonly fromMs: number
  readonly toMs: number
  readonly count: number
}

/** When more than one row held: the harm itself. Computed from the spans, whatever the act says of itself. */
export function overlaps(spans: readonly Span[]): Overlap[] {
  const holds = spans.filter(({ kind, fromMs, toMs }) => kind === 'hold' && toMs > fromMs)
  const edges = [...new Set(holds.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].toSorted((a, b) => a - b)
  const found: Overlap[] = []
  for (const [i, fromMs] of edges.entries()) {
    const toMs = edges[i + 1]
    if (toMs === undefined) break
    const rows = new Set(holds.filter((hold) => hold.fromMs <= fromMs && hold.toMs >= toMs).map(({ row }) => row))
    if (rows.size > 1) found.push({ fromMs, toMs, count: rows.size })
  }
  return found
}

/** The most rows that ever held at one moment. */
export function holdersAtOnce(spans: readonly Span[]): number {
  const most = Math.max(0, ...overlaps(spans).map(({ count }) => count))
  return most > 0 ? most : spans.some(({ kind }) => kind === 'hold') ? 1 : 0
}
