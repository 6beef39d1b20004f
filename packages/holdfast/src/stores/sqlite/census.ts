/** The processes in the file: who they are, and which of them are dead. */
import type { Engine, Statement } from './engine.ts'
import type { Host } from './host.ts'
import { isDead, type Mortal } from './dead-process.ts'
import { isSocketName } from './wakeups-folder.ts'

/** Short-lived processes come and go by the thousand, so what is remembered of them is cleared now and then. */
const KNOWN_MAX = 1_024
/** How long the answer "alive" stays good: one transaction asks about the same process many times. */
const FRESH_US = 1_000

/** The key of no process: the census never has it, so it is never found dead. */
export const NOBODY = 0

export class Census {
  readonly #host: Host
  readonly #known = new Map<number, Mortal>()
  readonly #dead = new Set<number>()
  readonly #aliveAt = new Map<number, number>()
  readonly #insert: Statement
  readonly #select: Statement
  readonly #delete: Statement
  readonly #sockets: Statement

  constructor(engine: Engine, host: Host) {
    this.#host = host
    this.#insert = engine.prepare(
      'INSERT INTO process (world, pid, start, is_group, socket) VALUES (?, ?, ?, ?, ?) RETURNING key',
    )
    this.#select = engine.prepare('SELECT key, world, pid, start, is_group, socket FROM process WHERE key = ?')
    this.#delete = engine.prepare('DELETE FROM process WHERE key = ?')
    this.#sockets = engine.prepare('SELECT socket FROM process')
  }

  add(who: Omit<Mortal, 'key'>): number {
    const row = this.#insert.get(who.world, who.pid, who.start, who.isGroup ? 1 : 0, who.socket) as { key: number }
    return row.key
  }

  remove(key: number): void {
    this.#delete.run(key)
    this.#known.delete(key)
    this.#aliveAt.delete(key)
  }

  /** Rows never change, so one look is enough. undefined: the row was removed. */
  find(key: number): Mortal | undefined {
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const row = this.#select.get(key) as (Omit<Mortal, 'isGroup'> & { readonly is_group: number }) | undefined
    if (row === undefined) return undefined
    const { pid, world, start } = row
    // Another user may have written the row: a socket name that is not ours counts as none.
    const socket = isSocketName(row.socket) ? row.socket : ''
    const who: Mortal = { key, pid, world, start, socket, isGroup: row.is_group === 1 }
    if (this.#known.size >= KNOWN_MAX) this.#forget()
    this.#known.set(key, who)
    return who
  }

  /** The sockets of all processes in the file. */
  sockets(): ReadonlySet<string> {
    return new Set((this.#sockets.all() as { readonly socket: string }[]).map(({ socket }) => socket))
  }

  /** True: provably dead. Asks the kernel, not the file, once the process is known. */
  isDead(key: number): boolean {
    if (this.#dead.has(key)) return true
    const now = this.#host.now()
    const aliveAt = this.#aliveAt.get(key)
    if (aliveAt !== undefined && now - aliveAt < FRESH_US) return false
    const who = this.find(key)
    if (who === undefined || !isDead(who, this.#host)) {
      this.#aliveAt.set(key, now)
      return false
    }
    this.#dead.add(key)
    return true
  }

  #forget(): void {
    this.#known.clear()
    this.#dead.clear()
    this.#aliveAt.clear()
  }
}
