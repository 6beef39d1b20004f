/** Runs a program to its end, and returns its output. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * Resolves with what it wrote to its standard output; rejects with the end of what it said if it fails.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ readonly cwd?: string }} [options]
 */
export async function runProgram(file, args, { cwd = process.cwd() } = {}) {
  const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' } })
  const said = { out: '', all: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.out += text
    said.all += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.all += text
  })
  const [code] = await once(child, 'close')
  if (code === 0) return said.out
  throw new Error(
    `${file} ${args.join(' ')} failed (${code}):\n${said.all.trimEnd().split('\n').slice(-15).join('\n')}`,
  )
}

/** The first version that a text names. @param {string} text */
export function versionIn(text) {
  return /\d+\.\d+(\.\d+)?/.exec(text)?.[0] ?? 'unknown'
}
