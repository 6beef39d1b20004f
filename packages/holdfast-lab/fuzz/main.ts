/**
 * `npm run fuzz -- [TARGET …] [--seconds 60] [--seed N] [--keep]`, or `-- TARGET --replay FILE`. Without a target all
 * of them, one after the other. Exits 1 when an input was answered with anything but a result or a typed error: a
 * TypeError, a hang, too much memory, a rejection that nobody handles.
 */
import { readFileSync } from 'node:fs'
import { keepCorpus, readCorpus } from './corpus.ts'
import { Run } from './run.ts'
import { isTyped } from './target.ts'
import { findTarget, TARGETS } from './targets/index.ts'

const args = process.argv.slice(2)
const valueOf = (option: string): string | undefined => args[args.indexOf(option) + 1 || args.length]
const names = args.filter((arg, i) => !arg.startsWith('--') && !/^--(seconds|seed|replay)$/.test(args[i - 1] ?? ''))

async function replay(name: string, file: string): Promise<void> {
  const target = findTarget(name)
  await target.open?.()
  try {
    await target.run(readFileSync(file))
    console.log(`${name}: a result`)
  } catch (error) {
    console.log(`${name}:`, error)
    process.exitCode = isTyped(error) ? 0 : 1
  }
  await target.close?.()
}

const file = valueOf('--replay')
if (file !== undefined) {
  await replay(names[0] ?? '', file)
} else {
  const seconds = Number(valueOf('--seconds') ?? 60)
  const seed = Number(valueOf('--seed') ?? Math.floor(Math.random() * 2 ** 31))
  for (const name of names.length > 0 ? names : TARGETS.map((target) => target.name)) {
    const run = new Run(findTarget(name).name, seed, seconds, readCorpus(name))
    await run.finish()
    console.log(run.report())
    if (args.includes('--keep')) console.log(`${name}: ${keepCorpus(name, run.corpus)} inputs kept`)
    if (run.faults.length > 0) process.exitCode = 1
  }
}
