/** One run: starts the processes, makes the faults, mends everything, and looks at the outcome. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { publicUrl } from 'holdfast/internal'
import { Clocks } from '../backend/clock.ts'
import { DEAF, type LockClient, type OpenClient } from '../client/lock-client.ts'
import { kindsFor, makeLines } from '../generator/plan.ts'
import { micros } from '../history/clock.ts'
import type { HistoryEvent, LineSpec } from '../history/event.ts'
import { mergeHistories } from '../history/read.ts'
import { Recorder } from '../history/recorder.ts'
import type { ClientTarget, Field } from '../nemesis/field.ts'
import type { NemesisName } from '../nemesis/names.ts'
import { Random } from '../random.ts'
import { aftermath } from './aftermath.ts'
import { Chaos } from './chaos.ts'
import { ClientProcess } from './client-process.ts'
import { chooseErrands, chooseFaults } from './choice.ts'
import { type Household, openHousehold } from './household.ts'
import { patiently } from './patiently.ts'
import type { NotRun, Progress, RunOptions } from './options.ts'
import { program } from '../../program.ts'
import { Referee } from './referee.ts'

export interface Run {
  readonly events: readonly HistoryEvent[]
  readonly notRun: readonly NotRun[]
}

const PROGRESS_MS = 1_000
const BIRTH_MS = 15_000
const SUSPEND_LEASES = 10
/** How long a nemesis waits for a holder. */
const AIM_MS = 2_000

export async function conduct(o: RunOptions): Promise<Run> {
  const household = await openHousehold()
  try {
    return await conductIn(household, o)
  } finally {
    await household.close()
  }
}

async function conductIn(household: Household, o: RunOptions): Promise<Run> {
  const { folder } = household
  const recorder = new Recorder(join(folder, 'conductor.jsonl'))
  const { href, config } = o.module ?? {
    href: pathToFileURL(program('torture/client/holdfast-client')).href,
    config: '',
  }
  const { default: open } = (await import(href)) as { default: OpenClient }
  const seat = { url: o.url, ttlMs: o.ttlMs, p: 'observer', variant: 1, config, ...DEAF }
  // Servers of our own may still mend what the run before broke; a user's that can't be reached is told of at once.
  const observer = await patiently(o.backend === null ? 0 : o.patienceMs, () => open(seat))
  const processes: ClientProcess[] = []
  let referee: Referee | null = null
  let ticker: NodeJS.Timeout | undefined
  try {
    await patiently(o.patienceMs, () => observer.setup())
    const lines = makeLines(
      typeof o.lines === 'number' ? kindsFor(o.lines, observer.counting) : o.lines,
      `torture:${process.pid}-${o.seed}:`,
    )
    writeHead(recorder, o, observer, lines)
    referee = await Referee.start(folder)
    const clocks = new Clocks(folder)
    const choice = chooseFaults(o, await clientLacks(clocks))
    const { errands, notRun: lacking } = await patiently(o.patienceMs, () => chooseErrands(observer, lines, o.errands))
    const report = progress(o, referee)
    ticker = setInterval(() => report({}), PROGRESS_MS)
    const base = {
      ttlMs: observer.ttlMs,
      seed: o.seed,
      lines,
      referee: referee.socket,
      module: href,
      config,
      tasks: o.tasks,
      pace: { ...o.pace, ttlMs: observer.ttlMs },
      errands,
    }
    for (let at = 1; at <= o.clients; at++) {
      const gate = o.backend === null ? { url: o.url, proxies: [], cable: null } : await o.backend.gate(at)
      const birth = { ...base, url: gate.url, variant: at }
      const clock = await clocks.make(`c${at}`)
      const ways = { gates: gate.proxies, cable: gate.cable }
      processes.push(new ClientProcess({ name: `c${at}`, birth, ...ways, clock, household, recorder }))
    }
    await Promise.all(processes.map((client) => client.start(BIRTH_MS)))
    recorder.record({ e: 'phase', t: micros(), name: 'chaos' })
    report({ phase: 'chaos' })
    const field = makeField(processes, referee, observer, Random.of(o.seed, 'aim'), o.suspendMs)
    const struck = new Set<NemesisName>()
    let faults = 0
    const chaos = new Chaos({
      field,
      deeds: o.backend?.deeds ?? {},
      recorder,
      random: Random.of(o.seed, 'nemesis'),
      onFault: (nemesis, target) => {
        struck.add(nemesis)
        faults += 1
        report({ faults, fault: `${nemesis} ${target}` })
      },
      signal: o.signal,
    })
    await chaos.rage(choice.names, o.chaosMs, o.nemeses !== null)
    recorder.record({ e: 'phase', t: micros(), name: 'quiet' })
    report({ phase: 'quiet' })
    // Long enough for every lease that was left behind to run out while the others go on.
    await sleep(o.quietMs ?? Math.max(2 * observer.ttlMs, 1_000))
    await aftermath({ o, open, config, recorder, processes, observer, lines })
    report({ phase: 'end' })
    const missed = choice.names.filter((name) => !struck.has(name))
    const notRun = [
      ...lacking,
      ...choice.notRun,
      ...missed.map((nemesis) => ({ nemesis, why: 'there was no time, or nobody to hit' })),
    ]
    if (referee.problem !== null) throw new Error(referee.problem)
    recorder.close()
    await referee.end()
    return { events: mergeHistories(folder, o.history), notRun }
  } finally {
    clearInterval(ticker)
    for (const client of processes) client.destroy()
    await referee?.end()
    await observer.close()
  }
}

function writeHead(recorder: Recorder, o: RunOptions, observer: LockClient, lines: readonly LineSpec[]): void {
  recorder.record({
    e: 'run',
    t: micros(),
    format: 1,
    seed: o.seed,
    store: publicUrl(o.url),
    versions: o.backend?.versions ?? 'not ours',
    ttlMs: observer.ttlMs,
    clients: o.clients,
    lines,
    fair: observer.fair,
    fenced: observer.fenced,
    failoverMs: o.backend?.failoverMs ?? 0,
  })
}

/** Which faults of client processes can't be made here. */
async function clientLacks(clocks: Clocks): Promise<Partial<Record<NemesisName, string>>> {
  const { lacks } = await clocks.make('probe')
  const why = lacks['clock-hour']
  return why === undefined ? {} : { 'client-clock': why }
}

function makeField(
  processes: readonly ClientProcess[],
  referee: Referee,
  observer: LockClient,
  random: Random,
  suspendMs: number | null,
): Field {
  /** The first that is found, now or soon. */
  const soon = async <T>(look: () => T | undefined): Promise<T | null> => {
    const end = performance.now() + AIM_MS
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      if (performance.now() > end) return null
      await referee.change(AIM_MS)
    }
  }
  const alive = (): ClientProcess[] => processes.filter((client) => client.isAlive)
  return {
    ttlMs: observer.ttlMs,
    suspendMs: suspendMs ?? SUSPEND_LEASES * observer.ttlMs,
    get clients(): readonly ClientTarget[] {
      return alive()
    },
    holder: (suits = () => true) =>
      soon(() => {
        const inside = new Set(referee.inside().map(({ p }) => p))
        return random.pick(alive().filter((client) => inside.has(client.p) && suits(client)))
      }),
    busyLine: () => soon(() => random.pick(referee.inside())?.line),
    async breakLine(line, now) {
      if (observer.break === undefined) throw new Error('the client under test can not break a line')
      await observer.break(line, now)
    },
  }
}

function progress(o: RunOptions, referee: Referee): (change: Partial<Progress>) => void {
  const start = performance.now()
  let last: Progress = { phase: 'start', elapsedMs: 0, visits: 0, faults: 0, fault: '', holders: '', crowded: 0 }
  return (change) => {
    const inside = referee.inside().map(({ p, line }) => `${p} in ${line.split(':').at(-1)}`)
    last = {
      ...last,
      ...change,
      elapsedMs: performance.now() - start,
      visits: referee.entered,
      holders: inside.slice(0, 3).join(', '),
      crowded: referee.crowded,
    }
    o.onProgress(last)
  }
}
