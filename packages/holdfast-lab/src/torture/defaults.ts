/** The defaults of a run. */
import type { RunOptions } from './conductor/options.ts'

/**
 * Stays are short against the lease: what outlives it was stopped, or is one of the few that are meant to. Waits are
 * longer than the bound on liveness: a line in which each waits for another must not go on only because somebody gave
 * up.
 */
const PACE = { stayMs: 40, restMs: 15, waitMs: 60_000, longEvery: 60 }
/** The bound on liveness, beyond the lease and what the store itself needs. */
const PATIENCE_MS = 30_000

type Given = Pick<RunOptions, 'backend' | 'chaosMs' | 'seed' | 'history'> & Partial<RunOptions>

export function withDefaults(given: Given): RunOptions {
  const { backend } = given
  return {
    url: backend?.url ?? '',
    ttlMs: backend?.ttlMs ?? 2_000,
    clients: 4,
    tasks: 2,
    lines: 4,
    nemeses: null,
    pace: PACE,
    errands: null,
    suspendMs: null,
    module: null,
    quietMs: null,
    patienceMs: PATIENCE_MS + (backend?.failoverMs ?? 0),
    onProgress: () => undefined,
    signal: new AbortController().signal,
    ...given,
  }
}
