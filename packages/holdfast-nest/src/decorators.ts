/** The decorators of a method. The wiring reads them when the app starts. */
import type { AcquireOptions, LockOptions, OnceOptions } from 'holdfast'
import { lockName } from './name.ts'

/** When a job runs, and how its lock behaves. */
export type OnceSettings = Omit<OnceOptions, 'run'>

export interface LockedMethod {
  readonly name: (args: readonly unknown[]) => string
  readonly options: LockOptions & AcquireOptions
}

export interface OnceMethod {
  readonly name: string
  readonly settings: OnceSettings
}

const locked = new WeakMap<object, LockedMethod>()
const once = new WeakMap<object, OnceMethod>()

export const lockedOf = (method: object): LockedMethod | undefined => locked.get(method)
export const onceOf = (method: object): OnceMethod | undefined => once.get(method)

/**
 * Holds a lock while the method runs. `{0}` in the name is the first argument, `{id}` the member `id` of the first
 * argument that has one: `@Locked('stock:{id}')`. A function makes the name from the arguments. A call that waits for
 * longer than `waitMs` rejects with an AcquireTimeoutError.
 */
export function Locked(
  name: string | ((...args: never[]) => string),
  options: LockOptions & AcquireOptions = {},
): (target: object, key: string | symbol, descriptor: PropertyDescriptor) => void {
  const made = typeof name === 'function' ? (args: readonly unknown[]) => name(...(args as never[])) : lockName(name)
  return (_target, _key, { value }) => {
    if (typeof value === 'function') locked.set(value, { name: made, options })
  }
}

/** Runs the method once per period, in whichever process comes first: `@Once('report', { cron: '0 3 * * *' })`. */
export function Once(
  name: string,
  settings: OnceSettings,
): (target: object, key: string | symbol, descriptor: PropertyDescriptor) => void {
  return (_target, _key, { value }) => {
    if (typeof value === 'function') once.set(value, { name, settings })
  }
}
