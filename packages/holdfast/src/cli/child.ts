/** Runs a program in place of this one: its streams, its signals, its exit code. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { EXIT, signalExit } from './exit.ts'
import { complain } from './output.ts'

const PASSED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

export function runChild([file = '', ...args]: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'inherit' })
    for (const signal of PASSED) process.on(signal, () => child.kill(signal))
    child.once('error', (error: NodeJS.ErrnoException) => {
      // ENOENT also comes for a script whose interpreter is missing: that script was found, and can't be run.
      const isMissing = error.code === 'ENOENT' && !(file.includes('/') && existsSync(file))
      complain(
        `${isMissing ? 'there is no program' : "can't run"} ${JSON.stringify(file)}: ${error.code ?? error.message}`,
      )
      resolve(isMissing ? EXIT.notFound : EXIT.cannotRun)
    })
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? EXIT.internal) : signalExit(signal)))
  })
}
