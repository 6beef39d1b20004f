/** A NestJS app: a method that one order at a time runs, wherever it is called. */
import 'reflect-metadata'
import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { HoldfastModule, Locked } from 'holdfast-nest'

const store = process.argv[2] ?? 'memory:nest-app'

@Injectable()
class Stock {
  left = 5

  @Locked('stock:{item}')
  async sell(order: { readonly item: string }): Promise<string> {
    const seen = this.left
    await new Promise((resolve) => setTimeout(resolve, 1))
    if (seen === 0) return `no ${order.item}`
    this.left = seen - 1
    return `one ${order.item}`
  }
}

@Module({ imports: [HoldfastModule.forRoot({ store })], providers: [Stock] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false })
const stock = app.get(Stock)
const answers = await Promise.all(Array.from({ length: 8 }, () => stock.sell({ item: 'lamp' })))
console.log(`sold ${answers.filter((answer) => answer === 'one lamp').length}, left ${stock.left}`)
await app.close()
