/**
 * How waiters of this process are woken without LISTEN: a connection calls a procedure that waits on the server
 * (ear_v6), one for each line that somebody waits in, up to a few; other lines, and all of them while no connection can
 * be had, are polled for.
 */
import type { Waiters } from '../waiters.ts'
import type { Ear } from './pool.ts'
import { EAR_SPAN_MS, type MysqlQueries } from './queries.ts'
import type { Value } from './reply.ts'

export interface DoorbellParts {
  readonly waiters: Waiters
  readonly queries: MysqlQueries
  /** Opens a connection whose answers may take that long. */
  readonly open: (timeoutMs: number) => Promise<Ear>
  readonly timeoutMs: number
  /** There are lines without an ear: they have to be polled for. */
  readonly unattended: () => void
}

const EARS_MAX = 4
const RETRY_MS = 2_000
/** Locks by name are refused (Galera), the procedure or the right to call it is missing: it will not get better. */
const HOPELESS = new Set([1235, 1305, 1370, 1142])

/** Until when no other connection is tried after this error. */
export function offUntil(error: unknown): number {
  const isHopeless = HOPELESS.has((error as { readonly errno?: number }).errno ?? 0)
  return isHopeless ? Number.POSITIVE_INFINITY : performance.now() + RETRY_MS
}

export class DoorbellWakeups {
  readonly #parts: DoorbellParts
  readonly #attended = new Set<string>()
  readonly #idle: Ear[] = []
  readonly #open = new Set<Ear>()
  #ears = 0
  #offUntil = 0
  #closed = false

  constructor(parts: DoorbellParts) {
    this.#parts = parts
  }

  /** Whether an ear is at this line. */
  attends(line: string): boolean {
    return this.#attended.has(line)
  }

  /** Somebody has begun to wait. */
  demand(): void {
    if (this.#closed || performance.now() < this.#offUntil) return
    while (this.#ears < EARS_MAX) {
      const line = this.#neglected()
      if (line === null) return
      this.#ears++
      this.#attended.add(line)
      void this.#serve(line)
    }
  }

  close(): void {
    this.#closed = true
    for (const ear of this.#open) ear.close()
  }

  async #serve(first: string): Promise<void> {
    let line: string | null = first
    let ear: Ear | undefined
    try {
      ear = this.#idle.pop() ?? (await this.#connect())
      while (line !== null && !this.#closed) line = (await this.#listen(ear, line)) ? line : this.#move(line)
    } catch (error) {
      // Not told to anybody: polling takes over, and a store out of reach shows itself to the heartbeat.
      this.#offUntil = offUntil(error)
    }
    if (line !== null) this.#attended.delete(line)
    this.#ears--
    if (ear !== undefined && ear.isOpen() && !this.#closed) this.#idle.push(ear)
    else if (ear !== undefined) this.#forget(ear)
    if (!this.#closed && this.#neglected() !== null) this.#parts.unattended()
  }

  /** One call. False: this line need not be listened to any more, or others have waited long enough. */
  async #listen(ear: Ear, line: string): Promise<boolean> {
    const { waiters, queries } = this.#parts
    const id = this.#front(line)
    if (id === null) return false
    const { statement, values } = queries.write('ear', { line, id })
    const { rows } = await ear.run(statement.text, values as Value[])
    const token = (rows[0]?.[0] ?? null) as string | null
    if (token === null) return this.#neglected() === null
    waiters.wake(id, token === '0' ? undefined : { id, token: BigInt(token) })
    return true
  }

  /** On to another line that nobody listens to. */
  #move(from: string): string | null {
    this.#attended.delete(from)
    const line = this.#neglected(from)
    if (line !== null) this.#attended.add(line)
    return line
  }

  /**
   * The first place of a line that waits: those behind it come later in any case. No bell rings for a place that has
   * become heavier: an ear at such a place would be deaf for all others of the line, for as long as one call lasts.
   */
  #front(line: string): string | null {
    const { waiters } = this.#parts
    for (const id of waiters.waitingIn.get(line) ?? []) if (!waiters.isRaising(id)) return id
    return null
  }

  /** A line with waiters and no ear; `last` only if there is no other. */
  #neglected(last?: string): string | null {
    let found: string | null = null
    for (const line of this.#parts.waiters.waitingIn.keys()) {
      if (this.#attended.has(line) || this.#front(line) === null) continue
      if (line !== last) return line
      found = line
    }
    return found
  }

  async #connect(): Promise<Ear> {
    const ear = await this.#parts.open(EAR_SPAN_MS + this.#parts.timeoutMs)
    this.#open.add(ear)
    return ear
  }

  #forget(ear: Ear): void {
    this.#open.delete(ear)
    ear.close()
  }
}
