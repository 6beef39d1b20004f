/** What the testbed gives to each kind of server. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from 'holdfast'
import { mountDisk, unmountDisk } from './disk.ts'
import type { Found } from './find.ts'
import type { Janitor } from './janitor.ts'
import type { ServerKind } from './needs.ts'
import { type Recipe, Server } from './server.ts'

/** What every kind takes. */
export interface StartOptions {
  /** Environment variables for the server process, such as LD_PRELOAD; none by default. */
  readonly env?: Readonly<Record<string, string>>
}

/** What every server of a testbed is given. */
export interface Everywhere {
  /** As of `StartOptions`. Libraries of both are put before the server's own. */
  readonly env?: Readonly<Record<string, string>>
  /** Each server's folder is a small file system of its own, which can be filled up; needs root. */
  readonly diskMb?: number
}

/** Servers that are one store together. */
export interface Group {
  /** The URL for clients: the addresses of all. */
  readonly url: string
  readonly servers: readonly Server[]
}

export class Bed {
  readonly #janitor: Janitor
  readonly #found: (kind: ServerKind) => Promise<Found>
  readonly #everywhere: Everywhere
  readonly #servers: Server[] = []
  readonly #disks: string[] = []
  #count = 0
  #closed = false

  constructor(janitor: Janitor, found: (kind: ServerKind) => Promise<Found>, everywhere: Everywhere = {}) {
    this.#janitor = janitor
    this.#found = found
    this.#everywhere = everywhere
  }

  /** The programs of a kind; rejects with what to install if there are none. */
  found(kind: ServerKind): Promise<Found> {
    return this.#found(kind)
  }

  /** A new folder for one server; its last part is the server's name. */
  async folder(role: string): Promise<{ readonly name: string; readonly dir: string }> {
    if (this.#closed) throw new UsageError(`the testbed is closed; ${role} can't be started in it`)
    this.#count += 1
    const name = `${role}-${this.#count}`
    const dir = join(this.#janitor.dir, name)
    await mkdir(dir, { mode: 0o755 })
    if (this.#everywhere.diskMb !== undefined) {
      await mountDisk(dir, this.#everywhere.diskMb)
      this.#disks.push(dir)
    }
    return { name, dir }
  }

  /** A server of this testbed, not yet started. */
  add(recipe: Recipe): Server {
    if (this.#closed) throw new UsageError(`the testbed is closed; ${recipe.name} can't be started in it`)
    const server = new Server(recipe, this.#janitor, this.#everywhere.env)
    this.#servers.push(server)
    return server
  }

  /** Starts all of them at once and waits for all, also when one fails. */
  async startAll(servers: readonly Server[]): Promise<void> {
    for (const result of await Promise.allSettled(servers.map((server) => server.start()))) {
      if (result.status === 'rejected') throw result.reason
    }
  }

  /** Ends everything, then removes the folder. */
  async close(): Promise<void> {
    this.#closed = true
    const results = await Promise.allSettled(this.#servers.map((server) => server.retire()))
    for (const dir of this.#disks) await unmountDisk(dir)
    await this.#janitor.close()
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }
}

/** `host:port,host:port` of these servers. */
export function addresses(servers: readonly Server[]): string {
  return servers.map((server) => `127.0.0.1:${server.port}`).join(',')
}

/** Refuses anything but 1 … 9 servers. */
export function countOf(what: string, count: number): number {
  if (Number.isInteger(count) && count >= 1 && count <= 9) return count
  throw new UsageError(`${what}: ${count} servers asked for; it can be 1 to 9`)
}
