import 'reflect-metadata'
import { Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { type Holdfast, holdfast } from 'holdfast'
import { memory } from 'holdfast/memory'

@Injectable()
class Stock {
  constructor(@Inject('LOCKS') private readonly locks: Holdfast) {}

  take(): Promise<number> {
    return this.locks.mutex('stock').using(async () => 7)
  }
}

@Module({
  providers: [{ provide: 'LOCKS', useFactory: () => holdfast(memory()) }, Stock],
})
class App {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] })
  console.log(await app.get(Stock).take())
  await app.close()
}

void main()
