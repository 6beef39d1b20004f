/** The module of an app: one instance for the whole app. */
import type { DynamicModule, FactoryProvider, ModuleMetadata } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService } from '@nestjs/core'
import { type Driver, type Holdfast, type HoldfastOptions, holdfast } from 'holdfast'
import { HOLDFAST, Wiring } from './wiring.ts'

export interface HoldfastModuleOptions extends HoldfastOptions {
  /** What `holdfast()` takes: a URL, or a driver over the client that you have. */
  readonly store: string | URL | Driver
}

export interface HoldfastAsyncOptions {
  readonly imports?: ModuleMetadata['imports']
  readonly inject?: FactoryProvider['inject']
  readonly useFactory: (...args: never[]) => HoldfastModuleOptions | Promise<HoldfastModuleOptions>
}

/** Call `app.enableShutdownHooks()`: then SIGTERM gives all locks back. */
export class HoldfastModule {
  /** `HoldfastModule.forRoot({ store: 'redis://…' })` */
  static forRoot(options: HoldfastModuleOptions): DynamicModule {
    return HoldfastModule.forRootAsync({ useFactory: () => options })
  }

  /** Takes the options from other providers: `{ inject: [ConfigService], useFactory: (config) => ({ store: … }) }`. */
  static forRootAsync({ imports = [], inject = [], useFactory }: HoldfastAsyncOptions): DynamicModule {
    const open = async (...args: never[]): Promise<Holdfast> => {
      const { store, ...options } = await useFactory(...args)
      return holdfast(store, options)
    }
    return {
      module: HoldfastModule,
      global: true,
      imports: [DiscoveryModule, ...imports],
      providers: [
        { provide: HOLDFAST, inject, useFactory: open },
        {
          provide: Wiring,
          inject: [HOLDFAST, DiscoveryService],
          useFactory: (hf: Holdfast, discovery: DiscoveryService) => new Wiring(hf, discovery),
        },
      ],
      exports: [HOLDFAST],
    }
  }
}
