/**
 * What processes report about themselves (`holdfast(url, { report: true })`): why a lock was lost, how long somebody
 * waited. The store shows neither. Each process writes its report into a cell of its own; each look reads one report,
 * in turn.
 */
import { type Holdfast, UnsupportedError } from 'holdfast'
import { rateOf, type SeenLimiter } from './limiters.ts'

/** The list of the processes that report: `{ [id]: … }`. */
const LIST_KEY = 'holdfast/reports'
const REPORT_KEY = 'holdfast/report/'
/** Looks between two readings of the list. */
const LIST_EVERY = 10
/** Keys of one limiter, of all processes together. */
const KEYS_MAX = 32

/** An event of a process, as far as the console uses it. */
export interface Reported {
  readonly atMs: number
  readonly event: string
  readonly lock: string
  /** How long the process waited or held. */
  readonly ms: number | null
  readonly reason: string
  readonly token: string
  readonly who: string
}

export class Reports {
  readonly #hf: Holdfast
  #queue: string[] = []
  #ids: string[] = []
  #looks = 0
  #isSupported = true
  /** For each process: the time up to which its events are known. */
  #knownMs = new Map<string, number>()
  /** The limiters of each process. */
  readonly #limiters = new Map<string, readonly SeenLimiter[]>()

  constructor(hf: Holdfast) {
    this.#hf = hf
  }

  /** What was reported since the last call. */
  async next(): Promise<Reported[]> {
    if (!this.#isSupported) return []
    try {
      if (this.#looks++ % LIST_EVERY === 0) await this.#list()
      if (this.#queue.length === 0) this.#queue = [...this.#ids]
      // One report a look, because each costs the store a request.
      const id = this.#queue.shift()
      return id === undefined ? [] : await this.#read(id)
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error
      // A store without cells has no reports, now and later.
      this.#isSupported = false
      return []
    }
  }

  /** The limiters of all reporting processes, each once. */
  limiters(): SeenLimiter[] {
    const sums = new Map<string, SeenLimiter>()
    for (const one of [...this.#limiters.values()].flat()) {
      const { allowed = 0, refused = 0, keys = [] } = sums.get(rateOf(one)) ?? {}
      sums.set(rateOf(one), {
        ...one,
        allowed: allowed + one.allowed,
        refused: refused + one.refused,
        keys: [...new Set([...keys, ...one.keys])].slice(0, KEYS_MAX),
      })
    }
    return [...sums.values()]
  }

  async #list(): Promise<void> {
    const { value } = await this.#hf.cell<Readonly<Record<string, unknown>>>(LIST_KEY).read()
    this.#ids = Object.keys(isRecord(value) ? value : {}).filter((id) => /^[0-9a-f]{1,64}$/.test(id))
    this.#knownMs = new Map([...this.#knownMs].filter(([id]) => this.#ids.includes(id)))
    for (const id of this.#limiters.keys()) if (!this.#ids.includes(id)) this.#limiters.delete(id)
  }

  async #read(id: string): Promise<Reported[]> {
    const { value } = await this.#hf.cell<unknown>(`${REPORT_KEY}${id}`).read()
    // Any version of Holdfast may have written the value: if it does not look like a report, it does not count.
    if (!isRecord(value) || !Array.isArray(value['recent'])) {
      this.#limiters.delete(id)
      return []
    }
    this.#limiters.set(id, limitersIn(value['limiters']))
    const { label = '', host = '', pid = 0 } = value
    const who = label === '' ? `${String(host)}:${String(pid)}` : `${String(label)} (${String(host)}:${String(pid)})`
    const sinceMs = this.#knownMs.get(id) ?? Number.NEGATIVE_INFINITY
    const fresh = value['recent'].filter(isRecord).flatMap(({ atMs, event, lock, ms, reason, token }) => {
      if (typeof atMs !== 'number' || typeof event !== 'string' || typeof lock !== 'string' || atMs <= sinceMs)
        return []
      const told = { reason: text(reason), token: text(token), ms: typeof ms === 'number' ? ms : null }
      return [{ atMs, event, lock, who, ...told }]
    })
    this.#knownMs.set(id, Math.max(sinceMs, ...fresh.map(({ atMs }) => atMs)))
    return fresh
  }
}

function limitersIn(value: unknown): SeenLimiter[] {
  const all = Array.isArray(value) ? value.filter(isRecord) : []
  return all.flatMap(({ name, keys, ...numbers }) => {
    const given = ['limit', 'perMs', 'burst', 'allowed', 'refused'].map((key) => numbers[key])
    const areNumbers = given.every((one) => typeof one === 'number' && Number.isFinite(one))
    if (typeof name !== 'string' || !Array.isArray(keys) || !areNumbers) return []
    const [limit, perMs, burst, allowed, refused] = given as [number, number, number, number, number]
    const texts = keys.filter((key): key is string => typeof key === 'string')
    return [{ name, limit, perMs, burst, allowed, refused, keys: texts }]
  })
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
