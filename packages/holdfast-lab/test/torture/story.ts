/** Tells histories in a few words, for the tests of the checkers. Times are milliseconds from the start. */
import type { HistoryEvent, LineSpec, RunEvent } from '../../src/torture/history/event.ts'

const MUTEX: LineSpec = { name: 'm', kind: 'mutex', capacity: 1 }

interface Told {
  readonly line?: string
  readonly weight?: number
  readonly exclusive?: boolean
  readonly token?: number
  /** When it asks; default: at the grant. */
  readonly asked?: number
  /** The local deadline; default: none known. */
  readonly until?: number
  /** When it lets go; default: never. */
  readonly to?: number
  readonly released?: 'ok' | 'fail' | 'unknown'
  readonly lost?: number
  /** Steps on the resource. */
  readonly steps?: readonly number[]
  /** The number of the visit whose place becomes heavier; they are counted from 0. */
  readonly over?: number
  /** Its caller had given up. */
  readonly aborted?: boolean
}

interface Asking extends Pick<Told, 'line' | 'over'> {
  /** Default 5 000. */
  readonly waitMs?: number
}

export class Story {
  readonly #events: HistoryEvent[] = []
  #visits = 0
  #faults = 0

  constructor(head: Partial<RunEvent> = {}) {
    this.#events.push({
      e: 'run',
      t: 0,
      format: 1,
      seed: 1,
      store: 'memory:',
      versions: 'none',
      ttlMs: 1_000,
      clients: 3,
      lines: [MUTEX],
      fair: true,
      fenced: true,
      failoverMs: 0,
      ...head,
    })
  }

  /** In the order of time, as a merged history is. */
  get events(): HistoryEvent[] {
    return this.#events.toSorted((a, b) => a.t - b.t)
  }

  hold(p: string, from: number, o: Told = {}): this {
    const i = this.#visits++
    const line = o.line ?? 'm'
    const exclusive = o.exclusive ?? true
    const until = o.until === undefined ? {} : { until: us(o.until) }
    const token = o.token === undefined ? {} : { token: String(o.token) }
    const asked = us(o.asked ?? from) - (o.asked === undefined ? 1 : 0)
    const over = o.over === undefined ? {} : { over: o.over }
    const aborted = o.aborted === true ? { aborted: true as const } : {}
    this.#say({ e: 'acquire', t: asked, p, i, line, weight: o.weight ?? 1, exclusive, waitMs: 5_000, ...over })
    this.#say({ e: 'acquired', t: us(from), p, i, outcome: 'ok', ...token, ...until, ...aborted })
    for (const at of o.steps ?? []) {
      this.#say({
        e: 'effect',
        t: us(at),
        p,
        i,
        line,
        what: 'write',
        begun: us(at),
        ...token,
        ...until,
        accepted: true,
      })
    }
    if (o.lost !== undefined) this.#say({ e: 'lost', t: us(o.lost), p, i })
    if (o.to !== undefined) {
      this.#say({ e: 'release', t: us(o.to), p, i })
      this.#say({ e: 'released', t: us(o.to) + 1, p, i, outcome: o.released ?? 'ok' })
    }
    return this
  }

  /** Asked, and not granted by anybody so far. */
  ask(p: string, at: number, outcome?: 'fail' | 'unknown', o: Asking = {}): this {
    const i = this.#visits++
    const over = o.over === undefined ? {} : { over: o.over }
    this.#say({
      e: 'acquire',
      t: us(at),
      p,
      i,
      line: o.line ?? 'm',
      weight: 1,
      exclusive: true,
      waitMs: o.waitMs ?? 5_000,
      ...over,
    })
    if (outcome !== undefined) this.#say({ e: 'acquired', t: us(at) + 10, p, i, outcome })
    return this
  }

  fault(nemesis: string, target: string, from: number, to: number, forgets = false): this {
    const id = this.#faults++
    this.#say({ e: 'fault', t: us(from), id, nemesis, target, forgets })
    this.#say({ e: 'healed', t: us(to), id, from: us(from), to: us(to), graceMs: 0 })
    return this
  }

  /** The line is taken from its holders. */
  broken(at: number, now = false, line = 'm'): this {
    const id = this.#faults++
    const nemesis = now ? 'break-now' : 'break'
    this.#say({ e: 'fault', t: us(at), id, nemesis, target: line, forgets: now, line })
    this.#say({ e: 'healed', t: us(at) + 1, id, from: us(at) + 1, to: us(at) + 1, graceMs: 0 })
    return this
  }

  queued(p: string, at: number, line = 'm', exclusive = true): this {
    return this.#say({ e: 'queued', t: us(at), p, line, exclusive })
  }

  phase(name: 'quiet' | 'end', at: number): this {
    return this.#say({ e: 'phase', t: us(at), name })
  }

  woken(p: string, at: number): this {
    return this.#say({ e: 'woken', t: us(at), p, line: 'm' })
  }

  exit(p: string, at: number, how: 'killed' | 'stopped' | 'stuck' | 'crashed'): this {
    return this.#say({ e: 'exit', t: us(at), p, how })
  }

  probe(at: number, tookMs: number, outcome: 'ok' | 'fail' = 'ok'): this {
    return this.#say({ e: 'probe', t: us(at), line: 'm', outcome, tookMs })
  }

  left(at: number, holders: number, waiters: number): this {
    return this.#say({ e: 'left', t: us(at), line: 'm', holders, waiters })
  }

  #say(event: HistoryEvent): this {
    this.#events.push(event)
    return this
  }
}

function us(ms: number): number {
  return Math.round(ms * 1_000)
}

/** So many holds in order, with a fault that meets one: a history that nothing is wrong with. */
export function goodStory(holds = 30, head: Partial<RunEvent> = {}): Story {
  const story = new Story(head)
  for (let n = 0; n < holds; n++) {
    story.hold(`c${1 + (n % 3)}`, n * 10, {
      to: n * 10 + 8,
      token: n + 1,
      until: n * 10 + 1_000,
      steps: [n * 10 + 1, n * 10 + 5],
    })
  }
  return story.fault('pause-holder', 'c1', 3, 4)
}
