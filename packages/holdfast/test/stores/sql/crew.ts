/** Processes of client.js: started together, told to go together. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Order {
  readonly work: 'count' | 'visit' | 'together'
  readonly url: string
  /** The package that a `postgres:` URL is opened with. */
  readonly client?: 'pg' | 'postgres'
  readonly line: string
  readonly times: number
  /** The file that marks who is inside. */
  readonly mark: string
  /** How wrong the process's wall clock is. */
  readonly clockMs: number
  /** Whether the names of `together` are asked for from the last to the first. */
  readonly reversed?: boolean
}

const CLIENT = fileURLToPath(new URL('./client.js', import.meta.url))

export class Crew {
  readonly #children: ChildProcess[]

  private constructor(children: ChildProcess[]) {
    this.#children = children
  }

  static async hire(orders: readonly Order[]): Promise<Crew> {
    const children = orders.map((order) => fork(CLIENT, [JSON.stringify(order)], { execArgv: [] }))
    await Promise.all(children.map((child) => once(child, 'message')))
    return new Crew(children)
  }

  /** What each of them answers; the first failure rejects. */
  go<T>(): Promise<T[]> {
    const answers = this.#children.map(async (child) => {
      const [{ result, error }] = (await once(child, 'message')) as [{ result: T; error?: string }]
      if (error !== undefined) throw new Error(error)
      return result
    })
    for (const child of this.#children) child.send('go')
    return Promise.all(answers)
  }

  stop(): void {
    for (const child of this.#children) child.send('stop')
  }

  async dismiss(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      }),
    )
  }
}
