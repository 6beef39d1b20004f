/** An actor as the lab sees it: a process that gets orders, and can be stopped, continued and killed. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { HoldfastError } from 'holdfast'
import { program } from '../../program.ts'
import type { Answer, Order, Request } from './order.ts'

/** The refusal that an actor got, with the code of the error. */
export class ActorError extends HoldfastError {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

interface Waiting {
  readonly resolve: (value: string | number | boolean | null) => void
  readonly reject: (error: Error) => void
}

export class Actor {
  readonly name: string
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  #count = 0
  #end: Error | null = null

  constructor(name: string) {
    this.name = name
    this.#process = fork(program('lab/actor/main'), [], { execArgv: [] })
    this.#process.on('message', (answer: Answer) => this.#answered(answer))
    this.#process.on('error', (error) => this.#ended(error))
    this.#process.on('exit', (code, signal) => {
      this.#ended(new ActorError('ENDED', `actor ${name} has ended: ${signal ?? `exit code ${code}`}`))
    })
  }

  /** Gives the actor one step to do. Rejects with an ActorError if the step was refused, or if the actor has ended. */
  do(order: Order): Promise<string | number | boolean | null> {
    if (this.#end !== null) return Promise.reject(this.#end)
    const request: Request = { id: this.#count++, order }
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject })
      // If the actor has ended, 'exit' reports it.
      this.#process.send(request, () => undefined)
    })
  }

  /** It stands still, and does not know. */
  stop(): void {
    this.#process.kill('SIGSTOP')
  }

  goOn(): void {
    this.#process.kill('SIGCONT')
  }

  /** Dies at once, even if it is stopped. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null || this.#end !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }

  #answered(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('error' in answer) waiting?.reject(new ActorError(answer.error.code, answer.error.message))
    else waiting?.resolve(answer.value)
  }

  #ended(error: Error): void {
    this.#end ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
