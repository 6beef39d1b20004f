/** The module in a real NestJS application. */
import 'reflect-metadata'
import { Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { AcquireTimeoutError, ClosedError, type Holdfast, holdfast, UsageError } from 'holdfast'
import { expect, test } from 'vitest'
import { HOLDFAST, HoldfastModule, Locked, Once } from '../src/index.ts'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Decorators as TypeScript's `experimentalDecorators` would apply them: this repository's own code has none. */
function decorate(type: { readonly prototype: object }, name: string, decorator: MethodDecorator): void {
  decorator(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name) as PropertyDescriptor)
}

class Stock {
  inside = 0
  most = 0
  runs = 0

  async sell(order: { readonly id: number }): Promise<number> {
    this.most = Math.max(this.most, ++this.inside)
    await pause(20)
    this.inside--
    return order.id
  }

  async audit(id: string): Promise<string> {
    return id
  }

  async report(): Promise<void> {
    this.runs++
  }
}
decorate(Stock, 'sell', Locked('stock:{id}', { ttlMs: 5_000 }))
decorate(Stock, 'audit', Locked('audit:{0}', { waitMs: 30 }))
decorate(Stock, 'report', Once('report', { everyMs: 1_000 }))
Injectable()(Stock)

class Seller {
  readonly hf: Holdfast

  constructor(hf: Holdfast) {
    this.hf = hf
  }
}
Injectable()(Seller)
Inject(HOLDFAST)(Seller, undefined as never, 0)

function appOf(holdfastModule: unknown): new () => object {
  class App {}
  Module({
    imports: [holdfastModule as never],
    providers: [Stock, Seller, { provide: 'URL', useValue: 'memory:nest' }],
  })(App)
  return App
}

test('methods take turns by their arguments, jobs run once, and closing the app gives all back', async () => {
  const app = await NestFactory.createApplicationContext(appOf(HoldfastModule.forRoot({ store: 'memory:nest' })), {
    logger: false,
  })
  const stock = app.get(Stock)
  expect(await Promise.all([1, 2, 3].map(() => stock.sell({ id: 7 })))).toEqual([7, 7, 7])
  expect(stock.most).toBe(1)
  await Promise.all([stock.sell({ id: 1 }), stock.sell({ id: 2 })])
  expect(stock.most).toBe(2)
  await expect(stock.sell({} as never)).rejects.toBeInstanceOf(UsageError)

  const other = await holdfast('memory:nest')
  const held = await other.mutex('audit:a').acquire()
  await expect(stock.audit('a')).rejects.toBeInstanceOf(AcquireTimeoutError)
  expect(await stock.audit('b')).toBe('b')
  await held.release()

  await expect.poll(() => stock.runs).toBeGreaterThan(1)
  const { hf } = app.get(Seller)
  const kept = await hf.mutex('kept').acquire()
  await app.close()
  expect(kept.state).toBe('released')
  expect(() => hf.mutex('late')).toThrow(ClosedError)
  const { runs } = stock
  await pause(1_500)
  expect(stock.runs).toBe(runs)
  await other.close()
})

test('forRootAsync: the options come from other providers; two apps are two processes', async () => {
  class Config {}
  Module({ providers: [{ provide: 'URL', useValue: 'memory:nest-async' }], exports: ['URL'] })(Config)
  const start = () =>
    NestFactory.createApplicationContext(
      appOf(
        HoldfastModule.forRootAsync({
          imports: [Config],
          inject: ['URL'],
          useFactory: async (store: string) => ({ store, label: 'web' }),
        }),
      ),
      { logger: false },
    )
  const [a, b] = [await start(), await start()]
  const held = await a.get(Seller).hf.mutex('shared').acquire()
  expect(await b.get(Seller).hf.mutex('shared').tryAcquire()).toBeNull()
  await held.release()
  await a.close()
  await b.close()
})
