/** Puts a planted fault through the same torture as Holdfast, until it is found. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Backend } from '../backend/backend.ts'
import type { Judgement } from '../checker/judge.ts'
import { judge } from '../checker/judge.ts'
import { conduct } from '../conductor/conduct.ts'
import { program } from '../../program.ts'
import type { Mutant } from './mutant.ts'

const TTL_MS = 300
const CHAOS_MS = 3_000
const PATIENCE_MS = 3_000
const CLIENTS = 3

export interface MutantRun {
  readonly judgement: Judgement
  readonly isFound: boolean
  readonly runs: number
}

/** Runs with one seed after the other until one of its rules is seen broken, at most `tries` times. */
export async function runMutant(mutant: Mutant, backend: Backend, seed: number, tries: number): Promise<MutantRun> {
  for (let runs = 1; ; runs++) {
    const judgement = await runOnce(mutant, backend, seed + runs - 1)
    const isFound = judgement.violations.some(({ rule }) => mutant.breaks.includes(rule))
    if (isFound || runs >= tries) return { judgement, isFound, runs }
  }
}

async function runOnce(mutant: Mutant, backend: Backend, seed: number): Promise<Judgement> {
  const { events } = await conduct({
    // All of them through proxies: a fault of the network may be the only one that brings it out.
    backend: { ...backend, gate: () => backend.gate(1) },
    url: backend.url,
    ttlMs: mutant.ttlMs ?? TTL_MS,
    chaosMs: CHAOS_MS,
    seed,
    clients: mutant.clients ?? CLIENTS,
    tasks: mutant.tasks ?? 1,
    lines: mutant.kinds ?? ['mutex'],
    nemeses: mutant.nemeses,
    pace: {
      stayMs: mutant.stayMs ?? 25,
      restMs: 5,
      waitMs: mutant.waitMs ?? 4_000,
      longEvery: mutant.longEvery ?? 0,
    },
    suspendMs: null,
    errands: mutant.errands ?? ['visit'],
    module: { href: pathToFileURL(program('torture/mutants/client')).href, config: mutant.name },
    history: join(tmpdir(), `holdfast-mutant-${process.pid}-${seed}.jsonl`),
    quietMs: mutant.quietMs ?? null,
    patienceMs: PATIENCE_MS,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  })
  return judge(events)
}
