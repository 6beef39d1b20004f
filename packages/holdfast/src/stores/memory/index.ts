/** `holdfast/memory`: locks between the tasks of one process. */
import { checkKeys, checkName } from '../../contract/check.ts'
import type { Runtime } from '../../contract/runtime.ts'
import type { Driver } from '../../contract/driver.ts'
import { system } from '../../system.ts'
import { MemoryDriver, SharedLines } from './driver.ts'

/** Options of `memory`. */
export interface MemoryOptions {
  /** Drivers of one process with the same name share their lines. Default: lines of its own. 1 to 512 bytes. */
  readonly name?: string
  /** Drivers of one name share their lines only if they have the same prefix. Default 'holdfast'; 1 to 128 bytes. */
  readonly prefix?: string
  /** Clocks, for tests. Default: the real ones. */
  readonly runtime?: Pick<Runtime, 'now' | 'wallNow'>
}

const hubs = new Map<string, SharedLines>()

/** Makes a store in the memory of this process. */
export function memory(options: MemoryOptions = {}): Driver {
  checkKeys('memory options', options, ['name', 'prefix', 'runtime'])
  const { name, prefix = 'holdfast', runtime = system } = options
  checkName('prefix', prefix, 128)
  if (name === undefined) return new MemoryDriver(new SharedLines(), runtime)
  checkName('the name of a memory store', name)
  const key = JSON.stringify([name, prefix])
  const hub = hubs.get(key) ?? new SharedLines()
  hubs.set(key, hub)
  return new MemoryDriver(hub, runtime)
}

export default memory
