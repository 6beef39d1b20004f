/** Runs a program in place of this one: its streams, its signals, its exit code. */
import { spawn } from 'node:child_process'
import { programExit, unstartedExit } from './exit.ts'

const PASSED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

export function runChild([file = '', ...args]: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'inherit' })
    for (const signal of PASSED) process.on(signal, () => child.kill(signal))
    child.once('error', (error: NodeJS.ErrnoException) => resolve(unstartedExit(file, error.code ?? error.message)))
    child.once('exit', (code, signal) => resolve(programExit(code, signal)))
  })
}
