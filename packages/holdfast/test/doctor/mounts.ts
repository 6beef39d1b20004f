/** Folders on file systems of FUSE, mounted for a test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { expect } from 'vitest'

const SFTP_SERVER = '/usr/lib/openssh/sftp-server'

/** Mounts, each by a program that is ended by `close()`. */
export class Mounts {
  readonly #programs: ChildProcess[] = []
  readonly #servers: Server[] = []

  /** Shows `folder` at `at` as another machine would, over loopback, with what sshfs speaks, but without ssh. */
  async sshfs(folder: string, at: string): Promise<void> {
    const server = createServer((socket) => {
      const program = spawn(SFTP_SERVER, [], { stdio: ['pipe', 'pipe', 'inherit'] })
      socket.on('error', () => program.kill()).pipe(program.stdin)
      program.stdout.pipe(socket)
    })
    this.#servers.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    await this.#mount('sshfs', ['-f', '-o', `directport=${port}`, `127.0.0.1:${folder}`, at], at)
  }

  /** Shows `folder` at `at`, of this machine as it is. */
  bindfs(folder: string, at: string): Promise<void> {
    return this.#mount('bindfs', ['-f', folder, at], at)
  }

  async close(): Promise<void> {
    for (const program of this.#programs) {
      // It unmounts before it ends.
      if (program.exitCode === null && program.kill()) await once(program, 'exit')
    }
    for (const server of this.#servers) server.close()
  }

  async #mount(program: string, args: readonly string[], at: string): Promise<void> {
    mkdirSync(at, { recursive: true, mode: 0o700 })
    this.#programs.push(spawn(program, args, { stdio: 'inherit' }))
    await expect.poll(() => readFileSync('/proc/self/mountinfo', 'utf8')).toContain(` ${at} `)
  }
}
