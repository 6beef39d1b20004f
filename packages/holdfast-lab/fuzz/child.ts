/** The process that a target runs in: whoever started it sees it hang, run out of memory, or leave a rejection. */
import { openSync } from 'node:fs'
import { readCorpus } from './corpus.ts'
import { Loop } from './loop.ts'
import { Present } from './present.ts'
import { findTarget } from './targets/index.ts'

/** What the process says. */
export type News =
  | { readonly kind: 'progress'; readonly runs: number; readonly blocks: number; readonly corpus: number }
  /** Inputs are base64. */
  | { readonly kind: 'found'; readonly input: string }
  | { readonly kind: 'failed'; readonly input: string; readonly error: string }

const [name = '', seed = '1', seconds = '1', file = ''] = process.argv.slice(2)
const say = (news: News): void => void process.send?.(news)
const target = findTarget(name)
const present = new Present(openSync(file, 'r+'))

await target.open?.()
const loop = new Loop(target, Number(seed), readCorpus(name), {
  began: (input) => present.write(input),
  failed: (input, error) =>
    say({
      kind: 'failed',
      input: input.toString('base64'),
      error: error instanceof Error ? String(error.stack) : String(error),
    }),
  found: (input) => say({ kind: 'found', input: input.toString('base64') }),
})
await loop.run(performance.now() + Number(seconds) * 1_000, (progress) => say({ kind: 'progress', ...progress }))
await target.close?.()
process.disconnect()
