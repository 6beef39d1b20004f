/**
 * Watches for the places that wait: many times a second, and without a call to the store, whether the processes ahead
 * still live; once a second, whether a wake-up was missed.
 */
import type { Cancel, Runtime } from '../../contract/runtime.ts'
import type { Entry } from '../../contract/driver.ts'

export interface Waiting {
  readonly entry: Entry
  readonly token: number
  /** Keys of the processes ahead. */
  readonly blockers: readonly number[]
}

export interface LivenessListener {
  isDead(process: number): boolean
  /** These processes are dead: their places must go. False: that was not possible now. */
  died(processes: readonly number[]): Promise<boolean>
  /** Look at these again: a wake-up may have been missed. */
  look(waiting: readonly Waiting[]): void
}

const PROBE_MS = 100
const PROBES_PER_LOOK = 10
/** A killed process closes its sockets a little before it is gone, so check again soon after. */
const ECHOES_MS = [2, 10, 40]

export class Liveness {
  readonly #runtime: Pick<Runtime, 'after'>
  readonly #listener: LivenessListener
  readonly #waiting = new Map<string, Waiting>()
  readonly #echoes = new Set<Cancel>()
  /**
   * Processes that are dead and were reported. A wrapper whose child still runs stays ahead, and must not be reported
   * ten times a second.
   */
  readonly #reported = new Set<number>()
  #cancel: Cancel | null = null
  #probes = 0

  constructor(runtime: Pick<Runtime, 'after'>, listener: LivenessListener) {
    this.#runtime = runtime
    this.#listener = listener
  }

  add(waiting: Waiting): void {
    this.#waiting.set(waiting.entry.id, waiting)
    this.#cancel ??= this.#runtime.after(PROBE_MS, () => this.#tick(), false)
  }

  remove(id: string): void {
    this.#waiting.delete(id)
  }

  /**
   * The connection to this process has closed: it has died, or closed the store. If it left just before, its wake-up
   * may have died with it, so whoever waited for it looks.
   */
  gone(process: number): void {
    const waiting = [...this.#waiting.values()].filter(({ blockers }) => blockers.includes(process))
    if (waiting.length > 0) this.#listener.look(waiting)
    if (this.#listener.isDead(process)) void this.#report([process])
    for (const ms of ECHOES_MS) {
      const cancel = this.#runtime.after(
        ms,
        () => {
          this.#echoes.delete(cancel)
          if (!this.#reported.has(process) && this.#listener.isDead(process)) void this.#report([process])
        },
        false,
      )
      this.#echoes.add(cancel)
    }
  }

  close(): void {
    this.#waiting.clear()
    this.#cancel?.()
    for (const cancel of this.#echoes) cancel()
  }

  #tick(): void {
    this.#cancel = null
    if (this.#waiting.size === 0) {
      this.#reported.clear()
      return
    }
    this.#cancel = this.#runtime.after(PROBE_MS, () => this.#tick(), false)
    this.#probe()
    if (++this.#probes % PROBES_PER_LOOK === 0) this.#listener.look([...this.#waiting.values()])
  }

  #probe(): void {
    const dead = [...this.#blockers()].filter((process) => this.#listener.isDead(process))
    if (!dead.every((process) => this.#reported.has(process))) void this.#report(dead)
  }

  async #report(dead: readonly number[]): Promise<void> {
    if (!(await this.#listener.died(dead))) return
    for (const process of dead) this.#reported.add(process)
  }

  #blockers(): Set<number> {
    const blockers = new Set<number>()
    for (const waiting of this.#waiting.values()) for (const process of waiting.blockers) blockers.add(process)
    return blockers
  }
}
