/**
 * `setTimeout`, `Date` and `performance.now` for the code of an actor: its own simulated ones. For all other code of
 * the process, including a test runner's, they stay what they were.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { currentActor } from './actor.ts'

type Fn = (...args: unknown[]) => unknown

class SimulatedTimer {
  readonly #arm: () => () => void
  #cancel: () => void

  constructor(arm: () => () => void) {
    this.#arm = arm
    this.#cancel = arm()
  }

  cancel(): void {
    this.#cancel()
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  refresh(): this {
    this.#cancel()
    this.#cancel = this.#arm()
    return this
  }

  close(): void {
    this.cancel()
  }

  [Symbol.dispose](): void {
    this.cancel()
  }
}

let users = 0
let restore: (() => void) | null = null

/** From now on, until what it returns is called. */
export function simulateClocks(): () => void {
  users++
  restore ??= install()
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    users--
    if (users > 0) return
    restore?.()
    restore = null
  }
}

function install(): () => void {
  const undo: (() => void)[] = []
  const set = (target: object, key: string, value: unknown): void => {
    const before = Object.getOwnPropertyDescriptor(target, key)
    Object.defineProperty(target, key, { value, configurable: true, writable: true, enumerable: true })
    undo.push(() => {
      if (before === undefined) Reflect.deleteProperty(target, key)
      else Object.defineProperty(target, key, before)
    })
  }
  const {
    setTimeout: later,
    setInterval: often,
    clearTimeout: clear,
    clearInterval: clearOften,
    Date: RealDate,
  } = globalThis
  const clearing = (real: (timer: never) => void) => (timer: unknown) => {
    if (timer instanceof SimulatedTimer) timer.cancel()
    else real(timer as never)
  }
  set(globalThis, 'setTimeout', timerOf(later as Fn, false))
  set(globalThis, 'setInterval', timerOf(often as Fn, true))
  set(globalThis, 'clearTimeout', clearing(clear))
  set(globalThis, 'clearInterval', clearing(clearOften))
  const now = (): number => currentActor()?.wallNow() ?? RealDate.now()
  set(
    globalThis,
    'Date',
    new Proxy(RealDate, {
      construct: (target, args, newTarget) =>
        Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
      get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
    }),
  )
  const realNow = performance.now.bind(performance)
  set(performance, 'now', () => currentActor()?.now() ?? realNow())
  undo.push(promised())
  return () => {
    for (const each of undo.toReversed()) each()
  }
}

/** `node:timers/promises`. */
function promised(): () => void {
  const timers = createRequire(process.execPath)('node:timers/promises') as Record<'setTimeout', Fn>
  const { setTimeout: real } = timers
  timers.setTimeout = (ms, value, options) => {
    const actor = currentActor()
    if (actor === null) return real(ms, value, options)
    const { signal } = (options ?? {}) as { readonly signal?: AbortSignal }
    return new Promise((resolve, reject) => {
      const cancel = actor.after(Number(ms ?? 1), () => resolve(value))
      const abort = (): void => {
        cancel()
        reject(signal?.reason as Error)
      }
      if (signal?.aborted === true) abort()
      else signal?.addEventListener('abort', abort, { once: true })
    })
  }
  syncBuiltinESMExports()
  return () => {
    timers.setTimeout = real
    syncBuiltinESMExports()
  }
}

function timerOf(real: Fn, again: boolean): Fn {
  const simulated: Fn = (fn, ms, ...args) => {
    const actor = currentActor()
    if (actor === null) return real(fn, ms, ...args)
    const timer: SimulatedTimer = new SimulatedTimer(() =>
      actor.after(Number(ms ?? 1), () => {
        if (again) timer.refresh()
        ;(fn as Fn)(...args)
      }),
    )
    return timer
  }
  const promise = (ms: unknown, value: unknown): Promise<unknown> =>
    new Promise((resolve) => void simulated(resolve, ms, value))
  return Object.assign(simulated, { [promisify.custom]: promise })
}
