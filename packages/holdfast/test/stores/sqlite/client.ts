/** The parent's side of child.ts: a process that can be asked, stopped and killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach } from 'vitest'

export interface Request {
  readonly seq: number
  readonly op: 'acquire' | 'release' | 'state' | 'bind' | 'count' | 'linger'
  readonly line: string
  readonly ttlMs?: number
}

type Reply = { readonly seq: number; readonly result?: unknown; readonly error?: string }

/** By its path in the project, which a wrapper may show at another place. */
export const PROJECT: string = fileURLToPath(new URL('../../../../../', import.meta.url))
const CHILD = 'packages/holdfast/test/stores/sqlite/child.ts'

export class Client {
  readonly process: ChildProcess
  readonly exited: Promise<void>
  readonly #pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  #seq = 0

  private constructor(path: string, wrapper: readonly string[]) {
    const [command, ...args] = [...wrapper, process.execPath, '--import', 'tsx', CHILD, path]
    this.process = spawn(command, args, { cwd: PROJECT, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.exited = new Promise((resolve) => {
      this.process.once('exit', (code) => {
        resolve()
        for (const { reject } of this.#pending.values()) reject(new Error(`${command} ended with ${code}`))
        this.#pending.clear()
      })
    })
    this.process.on('error', (error) => this.#pending.get(0)?.reject(error))
    this.process.on('message', (message) => this.#answered(message as Reply))
  }

  /** Starts a client, by way of a wrapper such as `unshare`; settles when it has opened the store. */
  static async start(path: string, wrapper: readonly string[] = []): Promise<Client> {
    const client = new Client(path, wrapper)
    clients.add(client)
    await client.#expect(0)
    return client
  }

  ask(op: Request['op'], line: string, ttlMs?: number): Promise<unknown> {
    const seq = ++this.#seq
    const reply = this.#expect(seq)
    // A client that is killed with the question still open has nothing more to say.
    reply.catch(() => undefined)
    this.process.send({ seq, op, line, ...(ttlMs === undefined ? {} : { ttlMs }) } satisfies Request)
    return reply
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.exited
  }

  #expect(seq: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#pending.set(seq, { resolve, reject })
    })
  }

  #answered({ seq, result, error }: Reply): void {
    const pending = this.#pending.get(seq)
    this.#pending.delete(seq)
    if (error === undefined) pending?.resolve(result)
    else pending?.reject(new Error(error))
  }
}

const clients = new Set<Client>()

afterEach(async () => {
  for (const client of clients) await client.kill()
  clients.clear()
})
