/** After the faults: is every line served, does everybody stop, is anything left? */
import { setTimeout as sleep } from 'node:timers/promises'
import { DEAF, type LockClient, type OpenClient } from '../client/lock-client.ts'
import { micros } from '../history/clock.ts'
import type { LineSpec, Outcome } from '../history/event.ts'
import type { Recorder } from '../history/recorder.ts'
import type { ClientProcess } from './client-process.ts'
import type { RunOptions } from './options.ts'
import { patiently } from './patiently.ts'

export interface Aftermath {
  readonly o: RunOptions
  readonly open: OpenClient
  readonly config: string
  readonly recorder: Recorder
  readonly processes: readonly ClientProcess[]
  readonly observer: LockClient
  readonly lines: readonly LineSpec[]
}

const LOOK_MS = 100

export async function aftermath(a: Aftermath): Promise<void> {
  const { o, recorder, processes, lines } = a
  await probeAll(a)
  recorder.record({ e: 'phase', t: micros(), name: 'stopping' })
  await Promise.all(processes.map((client) => client.stop(o.patienceMs)))
  await Promise.all(lines.map((line) => look(a, line)))
  recorder.record({ e: 'phase', t: micros(), name: 'end' })
}

/** A client that was not there during the faults asks for all lines at once. */
async function probeAll({ o, open, config, recorder, lines, observer }: Aftermath): Promise<void> {
  // Measure from here how long the client waits for a line: connecting is part of the wait.
  const start = performance.now()
  const seat = { url: o.url, ttlMs: observer.ttlMs, p: 'probe', variant: 1, config, ...DEAF }
  const fresh = await patiently(o.patienceMs, () => open(seat))
  const probe = async (line: LineSpec): Promise<void> => {
    let outcome: Outcome = 'fail'
    let error: string | undefined
    try {
      const claim = await within(o.patienceMs, (signal) =>
        fresh.acquire({ line, exclusive: true, weight: line.capacity, waitMs: o.patienceMs, signal }),
      )
      if (claim !== null) {
        outcome = 'ok'
        await claim.release()
      }
    } catch (caught) {
      outcome = 'unknown'
      error = caught instanceof Error ? caught.message : String(caught)
    }
    const failed = error === undefined ? {} : { error }
    recorder.record({ e: 'probe', t: micros(), line: line.name, outcome, tookMs: performance.now() - start, ...failed })
  }
  try {
    await Promise.all(lines.map(probe))
  } finally {
    await fresh.close()
  }
}

/** If the client ignores its own time-out, we go on after a while. */
async function within<T>(ms: number, act: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
  const limit = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => {
      limit.abort()
      resolve(null)
    }, ms + 1_000)
  })
  const result = act(limit.signal)
  try {
    return await Promise.race([result, late])
  } finally {
    clearTimeout(timer)
    // Its own end is no longer waited for, and nobody is left to be told how it came.
    result.catch((): void => undefined)
  }
}

/** Places of killed clients may stay until their leases end. */
async function look({ o, recorder, observer }: Aftermath, line: LineSpec): Promise<void> {
  const end = performance.now() + observer.ttlMs + o.patienceMs
  for (;;) {
    const crowd = await patiently(o.patienceMs, () => observer.crowd(line))
    if (crowd.holders + crowd.waiters === 0 || performance.now() > end) {
      recorder.record({ e: 'left', t: micros(), line: line.name, ...crowd })
      return
    }
    await sleep(LOOK_MS)
  }
}
