/** Faults of servers of any kind: of their disks, memory, connections and versions. */
import { basename } from 'node:path'
import type { ServerKind } from '../../testbed/needs.ts'
import type { GivenServers } from '../../testbed/given.ts'
import type { Everywhere } from '../../testbed/bed.ts'
import { mountDisk, unmountDisk } from '../../testbed/disk.ts'
import { TestbedError } from '../../testbed/error.ts'
import type { Server } from '../../testbed/server.ts'
import { temporaryFolder } from '../folder.ts'
import type { NemesisName } from '../nemesis/names.ts'
import type { Deed } from './backend.ts'
import { crowd } from './crowd.ts'
import { anyOf } from './deeds.ts'
import { DISK_MB, diskFull } from './disk-full.ts'
import { oomKill, oomProblem } from './oom-kill.ts'
import { type Around, type SlowDisk, slowDisk } from './slow-disk.ts'
import { upgradeServer } from './upgrade-server.ts'

/** What a store says of its servers, so that hardships can be made. */
export interface Sufferers {
  readonly servers: readonly Server[]
  readonly kind: ServerKind
  /** The program that a newer version may replace; absent: more than one program starts the server. */
  readonly program?: string
  /** What a connection must send to count; default: nothing. */
  readonly hello?: Buffer
  /** Makes answers wait for the disk; default nothing. */
  readonly aroundSlowDisk?: Around
  /** Why a hardship can't be made on this store. */
  readonly spared?: Readonly<Partial<Record<NemesisName, string>>>
}

type Lacks = Partial<Record<NemesisName, string>>

/** Prepared before the servers are started. */
export class Hardships {
  readonly #slow: SlowDisk
  readonly #noDisk: string | null
  readonly #noLimit: string | null
  readonly #newer: GivenServers

  private constructor(slow: SlowDisk, noDisk: string | null, noLimit: string | null, newer: GivenServers) {
    this.#slow = slow
    this.#noDisk = noDisk
    this.#noLimit = noLimit
    this.#newer = newer
  }

  /** Files of it are in `folder`. `newer`: what servers are upgraded to. */
  static async open(folder: string, newer: GivenServers): Promise<Hardships> {
    return new Hardships(await slowDisk(folder), await diskProblem(), await oomProblem(), newer)
  }

  /** Options that all servers need. */
  get everywhere(): Everywhere {
    return { env: this.#slow.env, ...(this.#noDisk === null ? { diskMb: DISK_MB } : {}) }
  }

  deeds({ servers, kind, program, hello, aroundSlowDisk }: Sufferers): Partial<Record<NemesisName, Deed>> {
    const any = anyOf(servers)
    const given = this.#newer[kind]
    const path = program === undefined ? undefined : given?.paths[program]
    const args = given?.base === undefined ? [] : [`--basedir=${given.base}`]
    return {
      'disk-full': diskFull(any),
      'slow-disk': this.#slow.deed(aroundSlowDisk),
      'oom-kill': oomKill(any),
      crowd: crowd(any, hello),
      ...(given === undefined || path === undefined
        ? {}
        : {
            'upgrade-server': upgradeServer(servers, {
              version: `${basename(path)} ${given.version}`,
              program: path,
              args,
            }),
          }),
    }
  }

  lacks({ kind, program, spared }: Sufferers): Lacks {
    return {
      ...(this.#noDisk === null ? {} : { 'disk-full': this.#noDisk }),
      ...(this.#slow.problem === null ? {} : { 'slow-disk': this.#slow.problem }),
      ...(this.#noLimit === null ? {} : { 'oom-kill': this.#noLimit }),
      ...(program !== undefined && this.#newer[kind] === undefined
        ? { 'upgrade-server': 'no newer version was given: --upgrade FILE' }
        : {}),
      ...spared,
    }
  }
}

/** Why a server's disk can't be a small one; null: it can. */
export async function diskProblem(): Promise<string | null> {
  if (process.getuid?.() !== 0) return 'only root can mount a small file system'
  const folder = temporaryFolder('disk')
  try {
    await mountDisk(folder.path, 1)
    await unmountDisk(folder.path)
    return null
  } catch (error) {
    if (error instanceof TestbedError) return 'small file systems can not be mounted here'
    throw error
  } finally {
    folder.remove()
  }
}
