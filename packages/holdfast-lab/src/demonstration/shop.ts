/** The shop: keeps the stock, starts the buyers, and decides when each of them gets its answer. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Ask, Errand, Request } from './messages.ts'
import type { Stock } from './stock.ts'

/** Prints what happens, in one line. */
export type Tell = (text: string) => void

/** A buyer as the shop sees it. Its requests lie in a queue until the shop answers them. */
export class Buyer {
  readonly name: string
  readonly #errand: Errand
  readonly #process: ChildProcess
  readonly #stock: Stock
  readonly #tell: Tell
  readonly #requests: Request[] = []
  #arrived: (() => void) | null = null
  #end: Error | null = null
  #bought: number | null = null

  constructor(errand: Errand, stock: Stock, tell: Tell) {
    this.name = errand.name
    this.#errand = errand
    this.#stock = stock
    this.#tell = tell
    const file = fileURLToPath(new URL('./buyer.js', import.meta.url))
    this.#process = fork(file, [JSON.stringify(errand)], { execArgv: [] })
    this.#process.on('message', (request: Request) => {
      this.#requests.push(request)
      this.#arrived?.()
    })
    this.#process.on('error', (error) => this.#ended(error))
    this.#process.on('exit', (code, signal) => {
      this.#ended(new Error(`buyer ${this.name} ended early: ${signal ?? `exit code ${code}`}`))
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** How many it has bought; 0 until it is done. */
  get bought(): number {
    return this.#bought ?? 0
  }

  /** Waits for the buyer's next request, and leaves it unanswered. */
  async next(): Promise<Ask> {
    while (this.#requests.length === 0) {
      if (this.#end !== null) throw this.#end
      await new Promise<void>((resolve) => {
        this.#arrived = resolve
      })
    }
    return (this.#requests[0] as Request).ask
  }

  /** Answers the first request in the queue. */
  async answer(): Promise<void> {
    const ask = await this.next()
    const { id } = this.#requests.shift() as Request
    const answer = this.#stock.answer(ask)
    this.#narrate(ask, answer)
    if (ask.kind === 'done') this.#bought = ask.bought
    // A stopped process reads it when it continues; 'exit' reports a killed one.
    this.#process.send({ id, ...answer }, () => undefined)
  }

  /** Answers all requests until the buyer is done. */
  async finish(): Promise<void> {
    while (this.#bought === null) await this.answer()
  }

  pause(): void {
    this.#process.kill('SIGSTOP')
    this.#tell(`${this.name} is paused (SIGSTOP): a long garbage collection, a full disk, a laptop lid`)
  }

  resume(): void {
    this.#process.kill('SIGCONT')
    this.#tell(`${this.name} goes on (SIGCONT), and does not know that time has passed`)
  }

  /** Also ends a stopped process. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }

  #ended(error: Error): void {
    this.#end ??= error
    this.#arrived?.()
  }

  #narrate(ask: Ask, answer: { readonly left?: number; readonly taken?: boolean; readonly refused?: boolean }): void {
    const token = 'token' in ask && ask.token !== undefined ? ` with token ${ask.token}` : ''
    if (answer.refused === true) this.#tell(`${this.name} is refused${token}: the stock has seen a newer one`)
    else if (ask.kind === 'read') this.#tell(`${this.name} reads ${answer.left}${token}`)
    else if (ask.kind === 'write') this.#tell(`${this.name} writes ${ask.left}${token}`)
    else if (ask.kind === 'take') {
      this.#tell(`${this.name} asks for ${ask.count} if there are as many: ${answer.taken === true ? 'yes' : 'no'}`)
    } else if (ask.kind === 'done') {
      const outcome = ask.bought > 0 ? `has bought ${ask.bought}` : 'goes away empty-handed'
      this.#tell(`${this.name} wanted ${this.#errand.wants} and ${outcome}`)
    }
  }
}
