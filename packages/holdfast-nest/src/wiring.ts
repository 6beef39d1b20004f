/** Puts locks around decorated methods, starts jobs with the app, and closes everything with the app. */
import type { OnApplicationBootstrap, OnApplicationShutdown, OnModuleInit } from '@nestjs/common'
import type { DiscoveryService } from '@nestjs/core'
import type { Holdfast, Once } from 'holdfast'
import { type LockedMethod, lockedOf, onceOf } from './decorators.ts'

/** The token of the instance: `@Inject(HOLDFAST) hf: Holdfast`. */
export const HOLDFAST: unique symbol = Symbol('HOLDFAST')

type Instance = Record<string, (...args: unknown[]) => unknown>

export class Wiring implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  readonly #hf: Holdfast
  readonly #discovery: DiscoveryService
  readonly #jobs: Once[] = []

  constructor(hf: Holdfast, discovery: DiscoveryService) {
    this.#hf = hf
    this.#discovery = discovery
  }

  onModuleInit(): void {
    for (const [instance, name, method] of this.#methods()) {
      const asked = lockedOf(method)
      if (asked !== undefined) instance[name] = this.#locked(method, asked)
    }
  }

  /** Jobs begin when all modules are ready. */
  onApplicationBootstrap(): void {
    for (const [instance, name, method] of this.#methods()) {
      const asked = onceOf(method)
      if (asked === undefined) continue
      this.#jobs.push(this.#hf.once(asked.name, { ...asked.settings, run: (work) => instance[name]?.(work) }))
    }
  }

  /** Waits for jobs that run, then gives all holds back. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.#jobs.map((job) => job[Symbol.asyncDispose]()))
    await this.#hf.close()
  }

  #locked(method: Instance[string], { name, options }: LockedMethod): Instance[string] {
    const { waitMs, signal, owner, ...lock } = options
    const acquire = {
      ...(waitMs === undefined ? {} : { waitMs }),
      ...(signal === undefined ? {} : { signal }),
      ...(owner === undefined ? {} : { owner }),
    }
    const hf = this.#hf
    return async function call(this: unknown, ...args: unknown[]): Promise<unknown> {
      return hf.mutex(name(args), lock).using(() => method.apply(this, args), acquire)
    }
  }

  *#methods(): Generator<[Instance, string, Instance[string]]> {
    const wrappers = [...this.#discovery.getProviders(), ...this.#discovery.getControllers()]
    for (const instance of new Set(wrappers.map((wrapper): unknown => wrapper.instance))) {
      if (typeof instance !== 'object' || instance === null) continue
      for (let proto: unknown = Object.getPrototypeOf(instance); proto !== Object.prototype; ) {
        if (typeof proto !== 'object' || proto === null) break
        for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(proto))) {
          if (typeof value === 'function' && name !== 'constructor') yield [instance as Instance, name, value]
        }
        proto = Object.getPrototypeOf(proto)
      }
    }
  }
}
