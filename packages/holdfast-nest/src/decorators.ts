/** What a method says of itself: read by the wiring when the app starts. */
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

type Method = (...args: never[]) => Promise<unknown>

const locked = new WeakMap<object, LockedMethod>()
const once = new WeakMap<object, OnceMethod>()

export const lockedOf = (method: object): LockedMethod | undefined => locked.get(method)
export const onceOf = (method: object): OnceMethod | undefined => once.get(method)

/**
 * The method runs while a lock is held. `{0}` in the name is the first argument, `{id}` the member `id` of the first
 * argument that has one: `@Locked('stock:{id}')`. A function makes the name of the arguments. What waits for too long
 * (`waitMs`) rejects with an AcquireTimeoutError.
 */
export function Locked<A extends never[]>(
  name: string | ((...args: A) => string),
  options: LockOptions & AcquireOptions = {},
): (target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<(...args: A) => Promise<never>>) => void {
  const made = typeof name === 'function' ? (args: readonly unknown[]) => name(...(args as A)) : lockName(name)
  return (_target, _key, { value }) => {
    if (value !== undefined) locked.set(value, { name: made, options })
  }
}

/** The method runs once per period, whichever process comes first: `@Once('report', { cron: '0 3 * * *' })`. */
export function Once(
  name: string,
  settings: OnceSettings,
): (target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<Method>) => void {
  return (_target, _key, { value }) => {
    if (value !== undefined) once.set(value, { name, settings })
  }
}
