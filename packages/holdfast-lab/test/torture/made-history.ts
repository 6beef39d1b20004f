/** Makes histories: clients on a mutex whose line takes the given steps. Only what they are told is written down. */
import { emptyLine, type LineEvent, type ModelAnswer, type ModelLine, type StepLine } from 'holdfast/conformance'
import type { HistoryEvent } from '../../src/torture/history/event.ts'
import { Random } from '../../src/torture/random.ts'
import { Story } from './story.ts'

const TTL_MS = 200
const END_MS = 4_000
const POLL_MS = 4
const RENEW_MS = 40
/** Shorter than the lease, as a client that does not trust its clock has it. */
const USABLE_MS = 196

/** One thing that happens at one moment. */
interface Due {
  readonly at: number
  readonly act: () => void
}

class Maker {
  readonly #step: StepLine
  readonly #random: Random
  readonly #events: HistoryEvent[] = []
  #line: ModelLine = emptyLine(1)
  #due: Due[] = []
  #now = 0
  #ids = 0

  constructor(step: StepLine, seed: number) {
    this.#step = step
    this.#random = new Random(seed)
  }

  run(): HistoryEvent[] {
    for (const at of [1, 2, 3]) this.#in(this.#random.next() * 5, () => this.#visit(at))
    this.#in(this.#random.next() * END_MS, () => this.#break())
    for (;;) {
      const next = this.#due.toSorted((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#due = this.#due.filter((other) => other !== next)
      this.#now = next.at
      next.act()
    }
    const [head] = new Story({ ttlMs: TTL_MS }).events
    return [head as HistoryEvent, ...this.#events].toSorted((a, b) => a.t - b.t)
  }

  #visit(client: number): void {
    if (this.#now > END_MS) return
    const i = this.#ids++
    const p = `c${client}`
    const id = `${String.fromCharCode(96 + client)}${i}`
    const waitMs = this.#random.chance(0.2) ? 0 : 60_000
    this.#say({ e: 'acquire', t: this.#t, p, i, line: 'm', weight: 1, exclusive: true, waitMs })
    const again = (): void => this.#in(this.#random.next() * 10, () => this.#visit(client))
    this.#ask({ kind: 'enter', id, weight: 1, ttl: TTL_MS, wait: waitMs > 0 }, (answer, sentAt) => {
      if (answer === null) {
        this.#say({ e: 'acquired', t: this.#t, p, i, outcome: 'fail' })
        again()
      } else if (answer.granted) this.#hold({ p, i, id, again }, answer, sentAt)
      else {
        this.#say({ e: 'queued', t: this.#t, p, line: 'm', exclusive: true })
        this.#wait({ p, i, id, again })
      }
    })
  }

  #wait(visit: Visit): void {
    this.#in(POLL_MS, () =>
      this.#ask({ kind: 'touch', id: visit.id }, (answer, sentAt) => {
        if (answer?.granted === true) this.#hold(visit, answer, sentAt)
        else if (answer !== null) this.#wait(visit)
        else {
          this.#say({
            e: 'acquired',
            t: this.#t,
            p: visit.p,
            i: visit.i,
            outcome: 'unknown',
            error: 'its place is gone',
          })
          visit.again()
        }
      }),
    )
  }

  #hold(visit: Visit, { token }: ModelAnswer, sentAt: number): void {
    const { p, i } = visit
    const until = Math.floor((sentAt + USABLE_MS) * 1_000)
    this.#say({ e: 'acquired', t: this.#t, p, i, outcome: 'ok', token: String(token * 1_024), until })
    const stayMs = this.#random.chance(0.1) ? TTL_MS * 1.5 : this.#random.next() * 20
    this.#stay(visit, this.#now + stayMs, sentAt + USABLE_MS)
  }

  /** Renews, and so hears of a loss. */
  #stay(visit: Visit, endsAt: number, until: number): void {
    const { p, i, id } = visit
    if (endsAt - this.#now <= RENEW_MS) {
      this.#in(Math.max(0, endsAt - this.#now), () => this.#release(visit, until))
      return
    }
    this.#in(RENEW_MS, () =>
      this.#ask({ kind: 'touch', id }, (answer, sentAt) => {
        if (answer !== null) this.#stay(visit, endsAt, sentAt + USABLE_MS)
        else {
          this.#say({ e: 'lost', t: this.#t, p, i })
          this.#release(visit, until, 'fail')
        }
      }),
    )
  }

  #release({ p, i, id, again }: Visit, until: number, outcome?: 'fail'): void {
    this.#say({ e: 'release', t: this.#t, p, i, until: Math.floor(until * 1_000) })
    const stood = (): boolean => this.#line.places.some((place) => place.id === id && !place.broken)
    this.#in(this.#delay, () => {
      const wasThere = stood()
      this.#take({ kind: 'leave', id })
      this.#in(this.#delay, () => {
        this.#say({ e: 'released', t: this.#t, p, i, outcome: outcome ?? (wasThere ? 'ok' : 'fail') })
        again()
      })
    })
  }

  /** An operator takes the line from its holders, again and again. */
  #break(): void {
    if (this.#now > END_MS) return
    const id = this.#ids++
    const t = this.#t
    this.#say({ e: 'fault', t, id, nemesis: 'break', target: 'm', forgets: false, line: 'm' })
    this.#in(this.#delay, () => {
      this.#take({ kind: 'break', atOnce: false })
      this.#in(this.#delay, () => {
        this.#say({ e: 'healed', t: this.#t, id, from: this.#t, to: this.#t, graceMs: 0 })
        this.#in(this.#random.next() * 1_000, () => this.#break())
      })
    })
  }

  #ask(event: LineEvent, then: (answer: ModelAnswer | null, sentAt: number) => void): void {
    const sentAt = this.#now
    this.#in(this.#delay, () => {
      const answer = this.#take(event)
      this.#in(this.#delay, () => then(answer, sentAt))
    })
  }

  #take(event: LineEvent): ModelAnswer | null {
    const { line, answer } = this.#step(this.#line, event, this.#now)
    this.#line = line
    return answer
  }

  #in(ms: number, act: () => void): void {
    this.#due.push({ at: this.#now + ms, act })
  }

  #say(event: HistoryEvent): void {
    this.#events.push(event)
  }

  get #delay(): number {
    return 0.05 + this.#random.next()
  }

  get #t(): number {
    return Math.round(this.#now * 1_000)
  }
}

interface Visit {
  readonly p: string
  readonly i: number
  readonly id: string
  readonly again: () => void
}

export function madeHistory(step: StepLine, seed: number): HistoryEvent[] {
  return new Maker(step, seed).run()
}
