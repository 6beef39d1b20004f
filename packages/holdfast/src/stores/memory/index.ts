/** `holdfast/memory`: locks between the tasks of one process. */
import { checkKeys, checkName } from '../../core/check.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Driver } from '../../driver.ts'
import { system } from '../../system.ts'
import { MemoryDriver, MemoryHub } from './driver.ts'

export interface MemoryOptions {
  /** Drivers of one process with the same name share their lines. Default: lines of its own. 1 to 512 bytes. */
  readonly name?: string
  /** Clocks, for tests. Default: the real ones. */
  readonly runtime?: Pick<Runtime, 'now' | 'wallNow'>
}

const hubs = new Map<string, MemoryHub>()

/** A store in the memory of this process. */
export function memory(options: MemoryOptions = {}): Driver {
  checkKeys('memory options', options, ['name', 'runtime'])
  const { name, runtime = system } = options
  if (name === undefined) return new MemoryDriver(new MemoryHub(), runtime)
  checkName('the name of a memory store', name)
  const hub = hubs.get(name) ?? new MemoryHub()
  hubs.set(name, hub)
  return new MemoryDriver(hub, runtime)
}

export default memory
