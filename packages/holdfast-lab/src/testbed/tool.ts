/** Runs a program to its end, for its output: versions, initdb, redis-cli. */
import { execFile } from 'node:child_process'
import { basename } from 'node:path'
import { TestbedError } from './error.ts'
import type { User } from './user.ts'

interface ToolOptions {
  readonly user?: User | null
  readonly cwd?: string
  /** Default 60 000. */
  readonly timeoutMs?: number
}

/** Resolves with its standard output; rejects with the end of what it said if it fails. */
export function runTool(file: string, args: readonly string[], o: ToolOptions = {}): Promise<string> {
  const user = o.user ?? null
  return new Promise((resolve, reject) => {
    const options = {
      cwd: o.cwd ?? '/',
      timeout: o.timeoutMs ?? 60_000,
      killSignal: 'SIGKILL' as const,
      env: { PATH: process.env['PATH'], HOME: o.cwd ?? '/', LC_ALL: 'C' },
      ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
    }
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n  ')
      const how = error.killed === true ? `was killed after ${options.timeout} ms` : `failed (${error.code})`
      return reject(new TestbedError(`${basename(file)} ${how}:\n  ${said}`))
    })
    child.stdin?.end()
  })
}
