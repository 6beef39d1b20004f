/** Runs Spin: builds the verifier of a configuration with cc, searches its states, and reads the outcome. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Configuration, Expected } from './configurations.ts'

const MODEL = fileURLToPath(new URL('../../promela/', import.meta.url))
const BUFFER = 64 * 1024 * 1024
/** No configuration has so long a path; if one had, pan would say so. */
const DEPTH_MAX = 100_000

export interface Searched {
  readonly states: number
  readonly depth: number
  readonly seconds: number
  /** The law that was broken; 'none': none was; 'unserved': somebody waits for ever. */
  readonly found: Expected | 'unserved'
  /** The shortest schedule that breaks it, as the model prints it. */
  readonly trail: readonly string[]
}

/** Searches all states; for a flawed configuration, finds the shortest schedule that breaks its law. */
export function search(of: Configuration): Promise<Searched> {
  return inFolder(async (folder) => {
    const defines = definesOf(of)
    await run('spin', ['-a', ...defines, 'redlock.pml'], folder)
    // Breadth first finds the shortest schedule; depth first needs less memory.
    const how = of.expected === 'none' ? ['-DCOLLAPSE'] : ['-DBFS']
    // Spin does not leave out equal orders where a process may be stopped by a condition.
    if (of.defines.FIRST_HOLDS === true) how.push('-DNOREDUCE')
    // A small search is over before an optimizing compiler is.
    const fixed = [of.isLarge === true ? '-O2' : '-O0', '-DSAFETY', '-DNOFAIR', '-DVECTORSZ=2048', '-DMEMLIM=12000']
    await run('cc', [...fixed, ...how, '-o', 'pan', 'pan.c'], folder)
    const from = performance.now()
    const said = await run('./pan', [`-m${DEPTH_MAX}`, ...(of.isCalm === true ? [] : ['-E'])], folder)
    const seconds = (performance.now() - from) / 1_000
    const [, states] = /(\d+) states, stored/.exec(said) ?? []
    const [, depth] = /depth reached (\d+)/.exec(said) ?? []
    if (states === undefined || depth === undefined || /max search depth too small|out of memory/.test(said)) {
      throw new Error(`the search of ${of.name} did not come to its end:\n${said}`)
    }
    const found = foundIn(said)
    const trail = found === 'none' ? [] : linesIn(await run('spin', ['-T', '-t', ...defines, 'redlock.pml'], folder))
    return { states: Number(states), depth: Number(depth), seconds, found, trail }
  })
}

/** One random schedule of the configuration. */
export function simulate(of: Configuration, seed: number): Promise<readonly string[]> {
  return inFolder(async (folder) =>
    linesIn(await run('spin', ['-T', `-n${seed}`, ...definesOf(of), 'redlock.pml'], folder)),
  )
}

function foundIn(said: string): Searched['found'] {
  if (/assertion violated.*highest/.test(said)) return 'tokens'
  if (/assertion violated.*holds/.test(said)) return 'exclusion'
  if (/pan:\d+: invalid end state/.test(said)) return 'unserved'
  if (/errors: 0/.test(said)) return 'none'
  throw new Error(`pan says neither that a law is broken nor that none is:\n${said}`)
}

function definesOf({ defines }: Configuration): string[] {
  return Object.entries(defines).map(([name, value]) => (value === true ? `-D${name}` : `-D${name}=${value}`))
}

/** What the model prints begins with @. */
function linesIn(said: string): string[] {
  return said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('@'))
    .map((line) => line.slice(1))
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-spin-'))
  try {
    await cp(MODEL, folder, { recursive: true })
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * What the program prints, whatever its exit code: pan and spin exit with another code than 0 when they find something.
 */
function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, maxBuffer: BUFFER, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (error !== null && (typeof error.code === 'string' || typeof error.signal === 'string')) reject(error)
      else if (/Error: (?!assertion violated)/.test(stdout + stderr) || (program === 'cc' && error !== null)) {
        reject(new Error(`${program} ${args.join(' ')}: ${stdout}${stderr}`, { cause: error }))
      } else resolve(stdout + stderr)
    })
  })
}
