/** A real redis-server of our own: a free loopback port, a temporary folder, stopped by its own process. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../../../src/testbed/port.ts'

export interface RedisServer {
  readonly port: number
  readonly folder: string
  stop(): Promise<void>
  /** Stops its process where it stands: connections stay open and nothing answers. */
  pause(): void
  resume(): void
  /** Kills it without notice and starts it again on the same port, empty. */
  restart(): Promise<void>
}

export async function startRedis(extra: (folder: string) => readonly string[] = () => []): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-redis-wire-'))
  const port = await freePort()
  const own = ['--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
  const args = [...own, ...(extra(folder).includes('--tls-port') ? ['--port', '0'] : ['--port', String(port)])]
  const launch = (): Promise<ChildProcess> =>
    launched([...args, ...extra(folder).map((arg) => arg.replace('PORT', String(port)))])
  let child = await launch()
  return {
    port,
    folder,
    stop: async () => {
      await ended(child)
      await rm(folder, { recursive: true, force: true })
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    restart: async () => {
      await ended(child)
      child = await launch()
    },
  }
}

async function launched(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (!line.includes('Ready to accept connections')) continue
    // Read on, or a full pipe would stop the server.
    child.stdout.resume()
    return child
  }
  throw new Error(`redis-server ended before it was ready:\n${lines.join('\n')}`)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
