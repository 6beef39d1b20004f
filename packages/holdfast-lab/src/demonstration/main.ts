/**
 * `npm start`: the flash sale, on the embedded store, between processes. Exits with 1 if any part ends differently from
 * its prediction.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isStyled, print, signalExit, table } from 'holdfast/internal'
import { CASE, type Outcome, PARTS, type Part } from './parts.ts'
import type { Buyer } from './shop.ts'

/** A part takes two seconds at most; a machine may be slow. */
const PATIENCE_MS = 60_000

interface Verdict {
  readonly part: Part
  readonly outcome: Outcome | null
  readonly isRight: boolean
}

async function play(part: Part, index: number, folder: string): Promise<Verdict> {
  print(`\n(${roman(index)}) ${part.title}`)
  const buyers: Buyer[] = []
  onStage = buyers
  const scene = {
    store: `sqlite:${join(folder, `part-${index}.db`)}`,
    buyers,
    tell: (text: string) => print(`    ${text}`),
  }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over after ${PATIENCE_MS / 1000} s`)), PATIENCE_MS)
  })
  try {
    const outcome = await Promise.race([part.run(scene), late])
    const oversold = outcome.sold > CASE.stock
    const isRight = oversold === part.oversells
    print(`  ${isRight ? '→' : '✗'} sold ${outcome.sold} of ${CASE.stock}: ${oversold ? 'oversold' : 'not oversold'}`)
    return { part, outcome, isRight }
  } catch (error) {
    print(`  ✗ ${error instanceof Error ? error.message : String(error)}`)
    return { part, outcome: null, isRight: false }
  } finally {
    clearTimeout(timer)
    for (const buyer of buyers) buyer.kill()
  }
}

function summary(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ part, outcome, isRight }, i) => [
    `(${roman(i)})`,
    part.title,
    outcome === null ? '-' : `${outcome.sold} of ${CASE.stock}`,
    outcome === null ? '-' : String(outcome.left),
    outcome === null ? 'did not end' : outcome.sold > CASE.stock ? 'oversold' : 'not oversold',
    isRight ? 'as it must be' : 'NOT AS IT MUST BE',
  ])
  const columns = [
    { title: '' },
    { title: 'HOW' },
    { title: 'SOLD', align: 'right' as const },
    { title: 'STOCK SAYS', align: 'right' as const },
    { title: 'RESULT' },
    { title: '' },
  ]
  return table(columns, rows, isStyled())
}

function roman(index: number): string {
  return ['i', 'ii', 'iii', 'iv'][index] ?? String(index + 1)
}

/** The buyers of the part that is being played. */
let onStage: readonly Buyer[] = []

async function main(): Promise<number> {
  const started = performance.now()
  print(`${CASE.stock} in stock, A wants ${CASE.a}, B wants ${CASE.b}: one of them must go away empty-handed.`)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // One of them may be stopped, and no milder signal would end it.
      for (const buyer of onStage) buyer.kill()
      rmSync(folder, { recursive: true, force: true })
      process.exit(signalExit(signal))
    })
  }
  const verdicts: Verdict[] = []
  try {
    for (const [index, part] of PARTS.entries()) verdicts.push(await play(part, index, folder))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  print(`\n${summary(verdicts)}\n`)
  print(
    'A lock keeps order; what it protects must still refuse the late. Where one conditional write is enough, take it.',
  )
  print(`(${((performance.now() - started) / 1000).toFixed(1)} s)`)
  return verdicts.every((verdict) => verdict.isRight) ? 0 : 1
}

process.exit(await main())
